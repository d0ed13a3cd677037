#include "video/media/media_location.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/files.h"

namespace zoetrope {
namespace {

std::string file_reason(const std::string& path) {
  struct stat link, target;
  if (lstat(path.c_str(), &link) != 0) return std::strerror(errno);
  if (stat(path.c_str(), &target) != 0)
    return S_ISLNK(link.st_mode) ? join_message("a symbolic link that leads nowhere: ", std::strerror(errno))
                                 : std::strerror(errno);
  if (S_ISDIR(target.st_mode)) return "a folder, not a file";
  if (!S_ISREG(target.st_mode)) return "not a regular file (a pipe, socket or device)";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return join_message("can't be read: ", std::strerror(errno));
  close(file);
  return target.st_size == 0 ? "an empty file (0 bytes)" : "";
}

/// The files that a location stands for.
std::vector<std::string> files_of(const MediaLocation& location) {
  std::vector<std::string> files;
  for (const std::string& picture : location.pictures) files.push_back(location.path + "/" + picture);
  if (files.empty()) files.push_back(location.path);
  return files;
}

std::string part_hash(const MediaLocation& location) {
  const OpenFile file(location.path, OpenFile::Mode::kRead);
  constexpr int64_t kBuffer = 1 << 20;
  const auto buffer = std::make_unique<char[]>(size_t(kBuffer));
  ContentHash hash;
  for (int64_t at = 0; at < location.size; at += kBuffer) {
    const size_t n = size_t(std::min(kBuffer, location.size - at));
    file.read_at(buffer.get(), n, uint64_t(location.offset + at));
    hash.add({buffer.get(), n});
  }
  return hex64(hash.value());
}

}  // namespace

std::string unreadable_reason(const MediaLocation& location) {
  if (location.is_part() && location.size == 0) return "an empty file (0 bytes)";
  return file_reason(files_of(location)[0]);
}

std::pair<int64_t, int64_t> size_and_time(const MediaLocation& location) {
  int64_t bytes = 0, time = 0;
  for (const std::string& path : files_of(location)) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {-1, 0};
    bytes += int64_t(status.st_size);
    time = std::max(time, int64_t(status.st_mtim.tv_sec) * 1000000000 + status.st_mtim.tv_nsec);
  }
  return {location.is_part() ? location.size : bytes, time};
}

std::string hash_or_nothing(const MediaLocation& location) {
  if (!unreadable_reason(location).empty()) return "";
  try {
    if (location.is_part()) return part_hash(location);
    if (!location.is_pictures()) return file_content_hash(location.path);
    ContentHash hash;
    for (const std::string& picture : location.pictures)
      hash.add(join_message(picture, '\0', file_content_hash(location.path + "/" + picture), '\0'));
    return hex64(hash.value());
  } catch (const Error&) { return ""; }
}

std::string read_bytes(const MediaLocation& location, int64_t most) {
  const std::string reason = file_reason(location.path);
  if (reason.starts_with("an empty file")) return "";
  ZT_REQUIRE(reason.empty(), reason);
  const int64_t size = size_and_time(location).first;
  ZT_REQUIRE(size <= most, "it has ", size, " bytes, at most ", most, " are read");
  try {
    if (!location.is_part()) return read_file(location.path);
    std::string bytes(size_t(location.size), '\0');
    OpenFile(location.path, OpenFile::Mode::kRead)
        .read_at(bytes.data(), bytes.size(), uint64_t(location.offset));
    return bytes;
  } catch (const Error&) { throw Error("it can't be read"); }  // without the path
}

}  // namespace zoetrope
