// Files that appear whole or not at all, and content hashes.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace zoetrope {

/// An open file, closed with the object. Every failure throws an Error that names the file and the reason.
class OpenFile {
 public:
  /// kReplaceAndRead: what was written can be read back. kNew: an error when it is there.
  enum class Mode { kRead, kReplace, kReplaceAndRead, kAppend, kNew };
  /// Errors name `said` where it is given: the file whose place this one is to take.
  OpenFile(const std::string& path, Mode mode, const std::string& said = "");
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  uint64_t size() const;
  /// Reads up to `size` bytes from where it is; 0 at the end.
  size_t read_some(void* data, size_t size) const;
  /// Reads exactly `size` bytes from `offset`.
  void read_at(void* data, size_t size, uint64_t offset) const;
  void write(const void* data, size_t size) const;
  void write(std::string_view content) const { write(content.data(), content.size()); }
  /// Writes all of it from `offset` on; not for kAppend, whose writes go to the end whatever the offset.
  void write_at(const void* data, size_t size, uint64_t offset) const;
  /// Cuts the file, or adds zeros to it.
  void resize(uint64_t size) const;
  void sync() const;

 private:
  void require_written(size_t done, size_t size) const;

  std::string said_;
  int descriptor_ = -1;
};

/// Whole file as bytes. Throws: Error naming the file and the system's reason.
std::string read_file(const std::string& path);
/// Writes to PATH.partial, syncs, renames, syncs the folder. Throws: Error naming the file and the reason.
void write_file_atomically(const std::string& path, std::string_view content);
/// For work that ends in a file: finds at its start what would keep `write_file_atomically` from making it.
/// Throws: Error naming the file and the reason.
void check_writable(const std::string& path);
/// Whether `inner` is the folder `outer` or lies below it, links followed; neither needs to exist.
bool lies_in(const std::string& inner, const std::string& outer);
/// An exception's message for the user; one of the standard library's about files names the folder that is
/// closed to this user, and what to do.
std::string message_of(const std::exception& error);
/// Syncs a finished file or a folder to disk.
void sync_path(const std::string& path);

/// 64-bit FNV-1a; for hashes of plans and configs, where speed is no matter.
constexpr uint64_t fnv1a(std::string_view bytes, uint64_t hash = 0xcbf29ce484222325ull) {
  for (char c : bytes) hash = (hash ^ uint8_t(c)) * 0x100000001b3ull;
  return hash;
}
std::string hex64(uint64_t value);

}  // namespace zoetrope
