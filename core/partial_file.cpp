#include "core/partial_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/file_room.h"
#include "core/files.h"

namespace zoetrope {
namespace {

constexpr size_t kPiece = size_t(1) << 30;  // below what one call of the system takes

}  // namespace

PartialFile::PartialFile(const std::string& path)
    : path_(path),
      partial_(path + ".partial"),
      descriptor_(open(partial_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
  ZT_REQUIRE(descriptor_ >= 0, "can't create '", path, "': ", std::strerror(errno));
}

PartialFile::~PartialFile() {
  close(descriptor_);
  if (!committed_) unlink(partial_.c_str());  // a full disk gets its room back
}

void PartialFile::write_at(const void* data, size_t size, uint64_t offset) const {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = pwrite(descriptor_, from, std::min(size, kPiece), off_t(offset));
    if (n < 0 && errno == EINTR) continue;
    const int error = errno;
    ZT_REQUIRE(n > 0, "can't write '", path_, "': ", std::strerror(error),
               room_text(descriptor_, error, size));
    from += n;
    offset += uint64_t(n);
    size -= size_t(n);
  }
}

void PartialFile::read_at(void* data, size_t size, uint64_t offset) const {
  char* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = pread(descriptor_, to, std::min(size, kPiece), off_t(offset));
    if (n < 0 && errno == EINTR) continue;
    ZT_REQUIRE(n > 0, "can't read '", partial_, "' at byte ", offset, ": ",
               n == 0 ? "it ends there" : std::strerror(errno));
    to += n;
    offset += uint64_t(n);
    size -= size_t(n);
  }
}

void PartialFile::resize(uint64_t size) const {
  const int error = ftruncate(descriptor_, off_t(size)) == 0 ? 0 : errno;
  ZT_REQUIRE(error == 0, "can't write '", path_, "': ", std::strerror(error),
             room_text(descriptor_, error, size_t(size)));
}

std::string PartialFile::hash_of(uint64_t size) const {
  constexpr size_t kBuffer = 128 << 10;  // fits into the level-2 cache of small processors
  const auto buffer = std::make_unique<char[]>(kBuffer);
  ContentHash hash;
  for (uint64_t at = 0; at < size; at += kBuffer) {
    const size_t piece = size_t(std::min<uint64_t>(kBuffer, size - at));
    read_at(buffer.get(), piece, at);
    hash.add({buffer.get(), piece});
  }
  return hex64(hash.value());
}

void PartialFile::commit() {
  ZT_REQUIRE(fsync(descriptor_) == 0, "can't sync '", path_, "': ", std::strerror(errno));
  ZT_REQUIRE(std::rename(partial_.c_str(), path_.c_str()) == 0, "can't rename '", partial_, "' to '", path_,
             "': ", std::strerror(errno));
  committed_ = true;
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  sync_path(folder.empty() ? "." : folder.string());
}

}  // namespace zoetrope
