#include "tools/launch_folders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "core/check.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
constexpr const char* kPrefix = "zoetrope-ranks-";

/// Our own folders of processes that have ended; others' can't be removed, and aren't touched.
void remove_stale(const fs::path& base) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(base, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    struct stat status = {};
    if (lstat(entry.path().c_str(), &status) != 0 || status.st_uid != geteuid() || !S_ISDIR(status.st_mode))
      continue;
    const std::string pid = name.substr(std::string(kPrefix).size());
    if (!fs::exists("/proc/" + pid, ignored)) fs::remove_all(entry.path(), ignored);
  }
}

std::string make_folder(const fs::path& base) {
  remove_stale(base);
  std::string path = base / (kPrefix + std::to_string(getpid()));
  std::error_code ignored;
  fs::remove_all(path, ignored);  // an earlier process with this number
  ZT_REQUIRE(mkdir(path.c_str(), 0700) == 0, "can't make ", path,
             " for the ranks; set TMPDIR to a writable folder");
  return path;
}

}  // namespace

LaunchFolders::LaunchFolders() {
  const char* temporary = std::getenv("TMPDIR");
  const fs::path base = temporary != nullptr && *temporary != '\0' ? temporary : "/tmp";
  session_ = make_folder(base);
  shared_memory_ =
      access("/dev/shm", W_OK) == 0 && !fs::equivalent("/dev/shm", base) ? make_folder("/dev/shm") : session_;
}

LaunchFolders::~LaunchFolders() {
  std::error_code ignored;
  fs::remove_all(session_, ignored);
  fs::remove_all(shared_memory_, ignored);
}

}  // namespace zoetrope
