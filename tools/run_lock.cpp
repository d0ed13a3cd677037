#include "tools/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "core/check.h"
#include "core/files.h"
#include "core/log.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

/// A killed training may still be in its last write.
constexpr std::chrono::seconds kPatience{5};

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  ZT_REQUIRE(!error && fs::is_directory(folder), "can't make the folder ", folder, ": ",
             error ? error.message() : "something else has this name");
}

std::string host_and_process() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return join_message("process ", getpid(), " on ", host);
}

/// Saves that a crash cut off; whole checkpoints have another name.
void remove_unfinished(const fs::path& checkpoints) {
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("step-") || !name.ends_with(".partial")) continue;
    log_info(join_message("removing ", entry.path().string(), ", which an interrupted save left"));
    fs::remove_all(entry.path());
  }
}

}  // namespace

RunLock::RunLock(const std::string& run) {
  make_folder(run);
  const std::string path = run + "/lock";
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  ZT_REQUIRE(descriptor_ >= 0, "can't open '", path, "': ", std::strerror(errno));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {  // some network file systems have no locks
      log_warning(join_message("'", path, "' can't be locked (", std::strerror(errno),
                               "): see to it yourself that only one training uses the run folder"));
      break;
    }
    ZT_REQUIRE(std::chrono::steady_clock::now() < end, "another training uses the run folder '", run, "' (",
               read_file(path), "): give another --run, or stop it first");
    usleep(20'000);
  }
  const std::string owner = host_and_process();
  const bool written = ftruncate(descriptor_, 0) == 0 &&
                       pwrite(descriptor_, owner.data(), owner.size(), 0) == ssize_t(owner.size());
  ZT_REQUIRE(written, "can't write '", path, "': ", std::strerror(errno));
  make_folder(run + "/checkpoints");
  remove_unfinished(run + "/checkpoints");
  check_writable(run + "/checkpoints/step-000000");
}

RunLock::~RunLock() { close(descriptor_); }

}  // namespace zoetrope
