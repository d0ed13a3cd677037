// Where the bytes of a clip lie: a file, a part of one (the member of an archive), or a folder of pictures
// that are its frames. Made by video/sources, opened by video/media/media_file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace zoetrope {

/// A whole file unless the other members say something else; converts from a path.
struct MediaLocation {
  std::string path;                   ///< the file, the archive, or the folder of the pictures
  int64_t offset = 0, size = -1;      ///< part of the file; size -1: up to its end
  std::vector<std::string> pictures;  ///< names in the folder, one frame each, in order
  double picture_fps = 0;             ///< their rate

  MediaLocation() = default;
  MediaLocation(std::string file) : path(std::move(file)) {}  // NOLINT: a path is a location
  MediaLocation(const char* file) : path(file) {}             // NOLINT
  bool is_part() const { return size >= 0; }
  bool is_pictures() const { return !pictures.empty(); }
};

/// Why it can't hold media, as far as the file system tells; empty when all is readable and has content.
std::string unreadable_reason(const MediaLocation& location);
/// Bytes in all, and the latest change of its files in nanoseconds; -1 and 0 when a file is missing or none.
std::pair<int64_t, int64_t> size_and_time(const MediaLocation& location);
/// Hash of the content; of a folder of pictures, of their names and contents. Empty when it can't be read.
std::string hash_or_nothing(const MediaLocation& location);
/// All bytes of a file or a part of one. Throws: Error with the reason, without a path, also when there are
/// more than `most`.
std::string read_bytes(const MediaLocation& location, int64_t most);

}  // namespace zoetrope
