#include "core/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/check.h"
#include "core/partial_file.h"

namespace zoetrope {
namespace {

constexpr size_t kPiece = size_t(1) << 30;  // below what one call of the system takes

int flags_of(OpenFile::Mode mode) {
  switch (mode) {
    case OpenFile::Mode::kRead: return O_RDONLY;
    case OpenFile::Mode::kReplace: return O_WRONLY | O_CREAT | O_TRUNC;
    case OpenFile::Mode::kReplaceAndRead: return O_RDWR | O_CREAT | O_TRUNC;
    case OpenFile::Mode::kAppend: return O_WRONLY | O_APPEND;
    case OpenFile::Mode::kNew: return O_WRONLY | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

/// Calls `step(done, size)` with what is left, and adds up what it returns: the bytes of one call of the
/// system. Returns the sum, smaller than `size` when a call failed, with its `errno`, or did nothing.
template <class Step>
size_t in_pieces(size_t size, const Step& step) {
  size_t done = 0;
  while (done < size) {
    errno = 0;
    const ssize_t n = step(done, std::min(size - done, kPiece));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += size_t(n);
  }
  return done;
}

/// For a write that failed with `error` since there is no room: how much is missing, and what to do. Empty
/// for other errors.
std::string room_text(int descriptor, int error, size_t wanted) {
  if (error != ENOSPC && error != EDQUOT && error != EFBIG) return "";
  struct statvfs disk = {};
  std::string text = join_message("; ", wanted, " more bytes are needed");
  if (error == ENOSPC && fstatvfs(descriptor, &disk) == 0)
    text += join_message(", its disk has ", uint64_t(disk.f_bavail) * disk.f_frsize, " left");
  return text + "; make room and run the same command again";
}

/// A rename would put a file in the place of /dev/null, or of a pipe.
void require_replaceable(const std::string& path) {
  struct stat info = {};
  ZT_REQUIRE(stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode), "can't write '", path,
             "': it is there and no file");
}

/// The first folder on the way to the path that this user may not enter; the path itself when there is none.
std::filesystem::path first_closed(const std::filesystem::path& path) {
  std::filesystem::path above;
  for (const std::filesystem::path& part : path) {
    above /= part;
    if (access(above.c_str(), F_OK) == 0 && faccessat(AT_FDCWD, above.c_str(), X_OK, AT_EACCESS) != 0)
      return above;
  }
  return path;
}

}  // namespace

OpenFile::OpenFile(const std::string& path, Mode mode, const std::string& said)
    : said_(said.empty() ? path : said), descriptor_(open(path.c_str(), flags_of(mode) | O_CLOEXEC, 0644)) {
  const bool creates = mode != Mode::kRead && mode != Mode::kAppend;
  ZT_REQUIRE(descriptor_ >= 0, creates ? "can't create '" : "can't open '", said_,
             "': ", std::strerror(errno));
}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

uint64_t OpenFile::size() const {
  struct stat info = {};
  ZT_REQUIRE(fstat(descriptor_, &info) == 0, "can't stat '", said_, "': ", std::strerror(errno));
  return uint64_t(info.st_size);
}

size_t OpenFile::read_some(void* data, size_t size) const {
  for (;;) {
    const ssize_t n = read(descriptor_, data, std::min(size, kPiece));
    if (n < 0 && errno == EINTR) continue;
    ZT_REQUIRE(n >= 0, "can't read '", said_, "': ", std::strerror(errno));
    return size_t(n);
  }
}

void OpenFile::read_at(void* data, size_t size, uint64_t offset) const {
  char* to = static_cast<char*>(data);
  const size_t done = in_pieces(
      size, [&](size_t at, size_t n) { return pread(descriptor_, to + at, n, off_t(offset + at)); });
  const int error = errno;
  ZT_REQUIRE(done == size, "can't read '", said_, "' at byte ", offset + done, ": ",
             error == 0 ? "it ends there" : std::strerror(error));
}

void OpenFile::write(const void* data, size_t size) const {
  const char* from = static_cast<const char*>(data);
  const size_t done =
      in_pieces(size, [&](size_t at, size_t n) { return ::write(descriptor_, from + at, n); });
  require_written(done, size);
}

void OpenFile::write_at(const void* data, size_t size, uint64_t offset) const {
  const char* from = static_cast<const char*>(data);
  const size_t done = in_pieces(
      size, [&](size_t at, size_t n) { return pwrite(descriptor_, from + at, n, off_t(offset + at)); });
  require_written(done, size);
}

void OpenFile::require_written(size_t done, size_t size) const {
  const int error = errno;
  ZT_REQUIRE(done == size, "can't write '", said_, "': ", std::strerror(error),
             room_text(descriptor_, error, size - done));
}

void OpenFile::resize(uint64_t size) const {
  const int error = ftruncate(descriptor_, off_t(size)) == 0 ? 0 : errno;
  ZT_REQUIRE(error == 0, "can't write '", said_, "': ", std::strerror(error),
             room_text(descriptor_, error, size_t(size)));
}

void OpenFile::sync() const {
  ZT_REQUIRE(fsync(descriptor_) == 0, "can't sync '", said_, "': ", std::strerror(errno));
}

std::string read_file(const std::string& path) {
  const OpenFile file(path, OpenFile::Mode::kRead);
  std::string content;
  char buffer[1 << 16];
  while (const size_t n = file.read_some(buffer, sizeof buffer)) content.append(buffer, n);
  return content;
}

std::string message_of(const std::exception& error) {
  const auto* of_files = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  if (of_files == nullptr || of_files->path1().empty()) return error.what();
  const std::filesystem::path& path = of_files->path1();
  const bool is_closed = of_files->code() == std::errc::permission_denied;
  return join_message(
      "can't read or change '", is_closed ? first_closed(path).string() : path.string(),
      "': ", of_files->code().message(),
      is_closed ? "; this user needs the right to list and enter it (ls -ld shows who has it)" : "");
}

void sync_path(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ZT_REQUIRE(descriptor >= 0, "can't open '", path, "' to sync it: ", std::strerror(errno));
  const int error = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  ZT_REQUIRE(error == 0 || error == EINVAL, "can't sync '", path,
             "': ", std::strerror(error));  // some folders can't be
}

bool lies_in(const std::string& inner, const std::string& outer) {
  namespace fs = std::filesystem;
  const auto real = [](const std::string& path) {
    std::error_code hidden;  // a folder that may not be read: its links stay
    const fs::path absolute = fs::absolute(path, hidden), canonical = fs::weakly_canonical(absolute, hidden);
    const fs::path found = hidden ? absolute.lexically_normal() : canonical;
    return found.has_filename() ? found : found.parent_path();  // "folder/" is "folder"
  };
  const fs::path below = real(inner), above = real(outer);
  return std::mismatch(above.begin(), above.end(), below.begin(), below.end()).first == above.end();
}

void check_writable(const std::string& path) {
  require_replaceable(path);
  // A name of this process: ranks and an interrupted run's PATH.partial are not in the way.
  const std::string trial = path + ".partial-" + std::to_string(getpid());
  OpenFile(trial, OpenFile::Mode::kNew, path);
  unlink(trial.c_str());
}

void write_file_atomically(const std::string& path, std::string_view content) {
  require_replaceable(path);
  PartialFile file(path);
  file.write_at(content.data(), content.size(), 0);
  file.commit();
}

std::string hex64(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace zoetrope
