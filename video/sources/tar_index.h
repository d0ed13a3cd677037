// Where the members of a plain tar archive lie, so that media are read in place. Used by
// video/sources/source_files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// A file in the archive.
struct TarMember {
  std::string name;
  int64_t offset = 0, size = 0;
  std::string refused;  ///< reason why its bytes aren't there as such (a link, a sparse file, cut off)
};

struct TarIndex {
  std::vector<TarMember> members;  ///< regular files and links, in the order of the archive; a later member
                                   ///< of the same name replaces an earlier one, as on unpacking
  std::string problem;  ///< why there may be more of them, empty when the archive is whole; without a path
};

/// Reads the headers: ustar, GNU and pax names and sizes. Throws: Error naming the file when it can't be
/// read; what is wrong with its content is the index's `problem`.
TarIndex read_tar_index(const std::string& path);

}  // namespace zoetrope
