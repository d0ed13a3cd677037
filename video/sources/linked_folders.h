// Symbolic links to folders that multiply: two in each of forty folders, each to the next one, are 2^40 ways
// and no loop. Looked for before a source is walked. Used by video/ingest.
#pragma once

#include <cstdint>
#include <string>

namespace zoetrope {

/// Throws: Error when more than `most` folders below `source` are reached through links, each way counted.
void require_few_linked_folders(const std::string& source, int64_t most = 100000);

}  // namespace zoetrope
