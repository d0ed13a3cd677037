#include "core/partial_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/check.h"
#include "core/content_hash.h"

namespace zoetrope {

PartialFile::PartialFile(const std::string& path)
    : path_(path), partial_(path + ".partial"), file_(partial_, OpenFile::Mode::kReplaceAndRead, path) {}

PartialFile::~PartialFile() {
  if (!committed_) unlink(partial_.c_str());  // a full disk gets its room back
}

void PartialFile::write_at(const void* data, size_t size, uint64_t offset) const {
  file_.write_at(data, size, offset);
}

void PartialFile::read_at(void* data, size_t size, uint64_t offset) const {
  file_.read_at(data, size, offset);
}

void PartialFile::resize(uint64_t size) const { file_.resize(size); }

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
  file_.sync();
  ZT_REQUIRE(std::rename(partial_.c_str(), path_.c_str()) == 0, "can't rename '", partial_, "' to '", path_,
             "': ", std::strerror(errno));
  committed_ = true;
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  sync_path(folder.empty() ? "." : folder.string());
}

}  // namespace zoetrope
