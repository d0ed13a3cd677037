// Whether an array of a shard is laid out as ours are, before anything of it is allocated or read: in the
// shard's own bytes, plain numbers, no bigger than the file, without foreign filters. A shard from
// elsewhere may name other files (external data, virtual and linked arrays), filters that load libraries or
// inflate, and sizes that no memory holds. Used by video/store/shard_file alone.
#pragma once

#include <cstdint>
#include <string>

namespace zoetrope::shard_layout {

/// Checks the link by which an array is found. `file` is an HDF5 identifier.
/// Throws: Error naming file and array, unless it is a plain one within the file.
void require_own_link(int64_t file, const std::string& path, const std::string& name);

/// Checks an open array: numbers, in one or two dimensions. `file` and `dataset` are HDF5 identifiers.
/// Throws: Error naming file and array.
void require_plain(int64_t file, int64_t dataset, const std::string& path, const std::string& name);

}  // namespace zoetrope::shard_layout
