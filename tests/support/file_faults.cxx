// Preloaded into the program by tests/tools/ingest_faults_crash_test.cpp. Counts the calls that change files
// below ZT_FAULT_FOLDER and writes them to ZT_FAULT_LOG, one a line: "write PATH", "sync PATH", "rename PATH
// PATH", "remove PATH", "create PATH", "folder PATH". From call number ZT_FAULT_AT on the disk is full; with
// ZT_FAULT_KILL the program is killed in place of that call instead.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace {

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::string path_of(int descriptor) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path);
  return length > 0 ? std::string(path, size_t(length)) : "";
}

bool is_watched(const std::string& path) {
  const char* folder = std::getenv("ZT_FAULT_FOLDER");
  return folder != nullptr && path.compare(0, std::string(folder).size(), folder) == 0;
}

/// Writes a call down. Returns whether it must fail: the disk is full.
bool must_fail(const std::string& line, bool needs_room) {
  static std::mutex lock;
  static long calls = 0;
  const std::lock_guard guard(lock);
  const char* at = std::getenv("ZT_FAULT_AT");
  const bool reached = at != nullptr && ++calls >= std::atol(at);
  if (reached && std::getenv("ZT_FAULT_KILL") != nullptr) kill(getpid(), SIGKILL);
  if (const char* log = std::getenv("ZT_FAULT_LOG")) {
    const int file = int(syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    const std::string text = line + "\n";
    if (syscall(SYS_write, file, text.data(), text.size()) < 0) abort();
    syscall(SYS_close, file);
  }
  return reached && needs_room;
}

int full() {
  errno = ENOSPC;
  return -1;
}

int open_watched(const char* path, int flags, mode_t mode) {
  const bool creates = (flags & (O_CREAT | O_TRUNC)) != 0 && is_watched(path);
  if (creates && must_fail(std::string("create ") + path, true)) return full();
  return int(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

mode_t mode_of(int flags, va_list rest) { return (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0; }

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_watched(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_watched(path, flags | O_LARGEFILE, mode);
}

ssize_t write(int descriptor, const void* data, size_t size) {
  static auto* const next = real<ssize_t(int, const void*, size_t)>("write");
  const std::string path = descriptor > 2 ? path_of(descriptor) : "";
  if (!is_watched(path)) return next(descriptor, data, size);
  if (!must_fail("write " + path, true)) return next(descriptor, data, size);
  // The last piece that there was room for is on the disk.
  if (next(descriptor, data, size / 2) < 0) return -1;
  return full();
}

ssize_t pwrite(int descriptor, const void* data, size_t size, off_t offset) {
  static auto* const next = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  const std::string path = path_of(descriptor);
  if (!is_watched(path)) return next(descriptor, data, size, offset);
  if (!must_fail("write " + path, true)) return next(descriptor, data, size, offset);
  if (next(descriptor, data, size / 2, offset) < 0) return -1;
  return full();
}

int ftruncate(int descriptor, off_t size) {
  static auto* const next = real<int(int, off_t)>("ftruncate");
  const std::string path = path_of(descriptor);
  if (is_watched(path) && must_fail("write " + path, true)) return full();
  return next(descriptor, size);
}

int fsync(int descriptor) {
  static auto* const next = real<int(int)>("fsync");
  const std::string path = path_of(descriptor);
  if (is_watched(path) && must_fail("sync " + path, true)) return full();
  return next(descriptor);
}

int rename(const char* from, const char* to) {
  static auto* const next = real<int(const char*, const char*)>("rename");
  if (is_watched(from) && must_fail(std::string("rename ") + from + " " + to, true)) return full();
  return next(from, to);
}

int unlink(const char* path) {
  static auto* const next = real<int(const char*)>("unlink");
  if (is_watched(path)) must_fail(std::string("remove ") + path, false);
  return next(path);
}

int remove(const char* path) {
  static auto* const next = real<int(const char*)>("remove");
  if (is_watched(path)) must_fail(std::string("remove ") + path, false);
  return next(path);
}

int mkdir(const char* path, mode_t mode) {
  static auto* const next = real<int(const char*, mode_t)>("mkdir");
  if (is_watched(path) && must_fail(std::string("folder ") + path, true)) return full();
  return next(path, mode);
}

}  // extern "C"
