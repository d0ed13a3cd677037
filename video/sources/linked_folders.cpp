#include "video/sources/linked_folders.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/check.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

class Counter {
 public:
  Counter(std::string source, int64_t most) : source_(std::move(source)), most_(most) {}

  void visit(const fs::path& folder, bool linked) {
    struct stat status = {};
    if (stat(folder.c_str(), &status) != 0) return;  // whoever reads it will say so
    const Identity identity{status.st_dev, status.st_ino};
    if (std::find(parents_.begin(), parents_.end(), identity) != parents_.end()) return;  // a loop
    ZT_REQUIRE(!linked || ++count_ <= most_, "more than ", most_, " folders below '", source_,
               "' are reached through symbolic links to folders, the last one '", folder.string(),
               "'; remove links that lead to folders with links");
    parents_.push_back(identity);
    std::error_code error;
    for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      std::error_code ignored;
      const bool is_link = entry->is_symlink(ignored);
      if (entry->is_directory(ignored) && !entry->path().filename().string().starts_with("."))
        visit(entry->path(), linked || is_link);
    }
    parents_.pop_back();
  }

 private:
  using Identity = std::pair<dev_t, ino_t>;

  std::string source_;
  int64_t most_, count_ = 0;
  std::vector<Identity> parents_;
};

}  // namespace

void require_few_linked_folders(const std::string& source, int64_t most) {
  Counter(source, most).visit(source, false);
}

}  // namespace zoetrope
