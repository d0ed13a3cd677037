#include "core/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/check.h"

namespace zoetrope {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() { if (fd >= 0) close(fd); }
};

void write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    ZT_REQUIRE(n > 0, "can't write '", path, "': ", std::strerror(errno));
    content.remove_prefix(size_t(n));
  }
}

/// A rename would put a file in the place of /dev/null, or of a pipe.
void require_replaceable(const std::string& path) {
  struct stat info {};
  ZT_REQUIRE(stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode), "can't write '", path, "': it is there and no file");
}

}  // namespace

std::string read_file(const std::string& path) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  ZT_REQUIRE(file.fd >= 0, "can't open '", path, "': ", std::strerror(errno));
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = read(file.fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    ZT_REQUIRE(n >= 0, "can't read '", path, "': ", std::strerror(errno));
    if (n == 0) return content;
    content.append(buffer, size_t(n));
  }
}

void sync_path(const std::string& path) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  ZT_REQUIRE(file.fd >= 0, "can't open '", path, "' to sync it: ", std::strerror(errno));
  ZT_REQUIRE(fsync(file.fd) == 0 || errno == EINVAL, "can't sync '", path, "': ", std::strerror(errno));
}

void check_writable(const std::string& path) {
  require_replaceable(path);
  // A name of this process: ranks and an interrupted run's PATH.partial are not in the way.
  const std::string trial = path + ".partial-" + std::to_string(getpid());
  const Descriptor file{open(trial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)};
  ZT_REQUIRE(file.fd >= 0, "can't write '", path, "': ", std::strerror(errno));
  unlink(trial.c_str());
}

void write_file_atomically(const std::string& path, std::string_view content) {
  require_replaceable(path);
  const std::string partial = path + ".partial";
  {
    const Descriptor file{open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    ZT_REQUIRE(file.fd >= 0, "can't create '", partial, "': ", std::strerror(errno));
    write_all(file.fd, content, partial);
    ZT_REQUIRE(fsync(file.fd) == 0, "can't sync '", partial, "': ", std::strerror(errno));
  }
  ZT_REQUIRE(std::rename(partial.c_str(), path.c_str()) == 0, "can't rename '", partial, "' to '", path,
             "': ", std::strerror(errno));
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  sync_path(folder.empty() ? "." : folder.string());
}

std::string hex64(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace zoetrope
