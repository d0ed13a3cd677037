// A disk that is full in the middle of each shard, of the lines after it, and page by page at the end: the
// error names the file and what is missing, nothing that was there is lost, and with more room the same
// command ends with the same bytes.
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/media_folder.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::Finished;
using testing_support::folder_difference;
using testing_support::run_process;
using testing_support::TemporaryFolder;

constexpr int64_t kPage = 4096;  // tmpfs gives room by pages

/// A disk of its own in memory, of any size.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& folder) : folder_(folder) {
    fs::create_directories(folder);
    mounted_ = mount("none", folder.c_str(), "tmpfs", 0, "size=64k,mode=700") == 0;
    reason_ = mounted_ ? "" : std::strerror(errno);
  }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  const std::string& reason() const { return reason_; }
  void resize(int64_t pages) const {
    const std::string size = "size=" + std::to_string(pages * kPage);
    ASSERT_EQ(mount("none", folder_.c_str(), "tmpfs", MS_REMOUNT, size.c_str()), 0) << std::strerror(errno);
  }
  void clear() const {
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove_all(entry.path());
  }

 private:
  std::string folder_, reason_;
  bool mounted_ = false;
};

/// The path in "can't write 'PATH'" or "can't create 'PATH'", as the name of a file.
std::string failed_file(const std::string& output) {
  for (const char* verb : {"can't write '", "can't create '"})
    if (const size_t at = output.find(verb); at != std::string::npos) {
      const size_t begin = at + std::strlen(verb);
      return fs::path(output.substr(begin, output.find('\'', begin) - begin)).filename();
    }
  return "";
}

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    testing_support::make_media_folder(at("clips"), 9);
    disk_ = std::make_unique<SmallDisk>(at("disk"));
    if (!disk_->mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs (root): " << disk_->reason();
    ASSERT_LE(run_process(ingest(at("whole"))).exit_code, 1);
  }
  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }
  std::vector<std::string> ingest(const std::string& dataset,
                                  const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {ZT_BINARY, "ingest",          at("clips"), dataset,     "--area",
                                      "3072",    "--shard-samples", "4",         "--workers", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// Sizes at which there is no room for a part of each shard, and for the lines that follow it.
  std::set<int64_t> tight_sizes() const {
    std::set<int64_t> sizes;
    int64_t end = 0, lines = 0;  // pages
    for (const auto& [name, bytes] : testing_support::folder_bytes(at("whole"))) {
      if (!name.starts_with("shard-")) continue;
      const int64_t pages = (int64_t(bytes.size()) + kPage - 1) / kPage;
      sizes.insert(end + pages / 2);
      end += pages;
      ++lines;
      sizes.insert({end + lines, end + lines + 1});
    }
    return sizes;
  }
  /// Runs a command on disks of rising size until it gets through twice, and with room after each failure.
  /// `prepare` brings the disk, big enough, into its state before. Above the tight sizes the disk grows by
  /// `step` pages. Returns the files that there was no room for.
  std::set<std::string> fill(const std::vector<std::string>& command, const std::function<void()>& prepare,
                             int64_t step) const {
    constexpr int64_t kRoomy = 64 << 8;  // 64 MiB
    const std::set<int64_t> tight = tight_sizes();
    std::set<std::string> failed;
    for (int64_t pages = 0, passed = 0; passed < 2;) {
      disk_->resize(kRoomy);
      disk_->clear();
      prepare();
      const auto next = tight.upper_bound(std::max(pages, used_pages()));
      pages = next != tight.end() ? *next : std::max(pages, used_pages()) + step;
      disk_->resize(pages);
      const Finished full = run_process(command);
      passed = full.exit_code <= 1 ? passed + 1 : 0;
      if (full.exit_code > 1) {
        EXPECT_EQ(full.exit_code, 3) << full.output;
        EXPECT_NE(full.output.find("No space left on device"), std::string::npos) << full.output;
        failed.insert(failed_file(full.output));
        if (full.output.find("can't write") != std::string::npos) {
          EXPECT_NE(full.output.find("more bytes are needed, its disk has"), std::string::npos)
              << full.output;
        }
        disk_->resize(kRoomy);
        const Finished again = run_process(command);
        EXPECT_LE(again.exit_code, 1) << again.output;
      }
      EXPECT_EQ(folder_difference(at("whole"), at("disk/data")), "") << pages << " pages";
      if (HasFailure()) break;
    }
    return failed;
  }
  int64_t used_pages() const {
    const fs::space_info space = fs::space(at("disk"));
    return int64_t(space.capacity - space.free) / kPage;
  }
  TemporaryFolder folder_;
  std::unique_ptr<SmallDisk> disk_;
};

void expect_all(const std::set<std::string>& failed, const std::vector<std::string>& wanted) {
  std::string all;
  for (const std::string& each : failed) all += each + " ";
  for (const std::string& each : wanted) EXPECT_TRUE(failed.count(each) > 0) << each << " not among " << all;
}

TEST_F(FullDisk, IngestGoesOnWithTheSameBytes) {
  const auto failed = fill(
      ingest(at("disk/data")), [] {}, 1);
  expect_all(failed, {"shard-00000.h5", "shard-00002.h5", "manifest.jsonl.partial"});
  EXPECT_TRUE(failed.count("manifest") + failed.count("dataset.json") > 0) << "no disk was full at the end";
}

TEST_F(FullDisk, MergeGoesOnWithTheSameBytes) {
  std::vector<std::string> merge = {ZT_BINARY, "merge", at("disk/data")};
  for (const char* part : {"1/2", "2/2"}) {
    const std::string folder = at("part") + part[0];
    ASSERT_LE(run_process(ingest(folder, {"--part", part})).exit_code, 1);
    merge.push_back(folder);
  }
  const auto failed = fill(
      merge, [] {}, 1);
  expect_all(failed, {"shard-00000.h5", "shard-00002.h5", "manifest.jsonl.partial"});
}

TEST_F(FullDisk, UpdateAndRepairGoOnWithTheSameBytes) {
  fs::rename(at("clips/clip001.mp4"), at("clip001.mp4"));
  ASSERT_LE(run_process(ingest(at("old"))).exit_code, 1);
  fs::rename(at("clip001.mp4"), at("clips/clip001.mp4"));
  const auto updated = fill(
      ingest(at("disk/data"), {"--update"}), [&] { fs::copy(at("old"), at("disk/data")); }, 16);
  EXPECT_FALSE(updated.empty());
  const auto damage = [&] {
    fs::copy(at("whole"), at("disk/data"));
    fs::resize_file(at("disk/data/shard-00001.h5"), 10);
  };
  const auto repaired = fill(ingest(at("disk/data"), {"--repair"}), damage, 16);
  expect_all(repaired, {"shard-00001.h5"});
}

}  // namespace
}  // namespace zoetrope
