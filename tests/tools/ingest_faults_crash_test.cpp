// The order in which files reach the disk, and what happens when the program is killed, or the disk is full,
// at each call that changes a file, one after the other.
#include <signal.h>

#include <gtest/gtest.h>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>

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
using Words = std::vector<std::string>;

/// Two shards, each created, written, synced, renamed, its folder synced, and noted in the journal.
constexpr size_t kFewestCalls = 2 * 7;

class Faults : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* stem : {"a", "b", "c", "d"}) add(stem);
    ASSERT_EQ(run_process(ingest("whole")).exit_code, 0);
    ASSERT_EQ(run_process(ingest("part1", {"--part", "1/2"})).exit_code, 0);
    ASSERT_EQ(run_process(ingest("part2", {"--part", "2/2"})).exit_code, 0);
  }
  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }
  void add(const std::string& stem) const {
    testing_support::write_text(at("clips/" + stem + ".png"), testing_support::tiny_png());
    testing_support::write_text(at("clips/" + stem + ".txt"), "caption of " + stem);
  }
  Words ingest(const std::string& name, const Words& more = {}) const {
    Words words = {ZT_BINARY, "ingest", at("clips"), at(name), "--shard-samples", "2", "--workers", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Words merge(const std::string& name) const {
    return {ZT_BINARY, "merge", at(name), at("part1"), at("part2")};
  }
  /// Runs a command with the library preloaded that fails the `number`-th call; 0: none.
  Finished run_with_fault(const Words& command, const std::string& name, int number, bool is_kill) const {
    Words words = {"env", "LD_PRELOAD=" ZT_FILE_FAULTS, "ZT_FAULT_FOLDER=" + at(name),
                   "ZT_FAULT_LOG=" + at("log")};
    if (number > 0) words.push_back("ZT_FAULT_AT=" + std::to_string(number));
    if (is_kill) words.push_back("ZT_FAULT_KILL=1");
    words.insert(words.end(), command.begin(), command.end());
    fs::remove(at("log"));
    return run_process(words);
  }
  std::vector<std::string> logged_calls() const {
    std::istringstream in(read_file(at("log")));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  /// Fails every call of the command in turn; each time the same command, run again, must give `wanted`.
  void fail_everywhere(const Words& command, const std::string& name, const std::string& wanted, bool is_kill,
                       const std::function<void()>& prepare) const {
    const auto start = [&] {
      fs::remove_all(at(name));
      prepare();
    };
    start();
    ASSERT_EQ(run_with_fault(command, name, 0, false).exit_code, 0);
    const std::vector<std::string> calls = logged_calls();
    ASSERT_GT(calls.size(), kFewestCalls) << "the library was not loaded";
    int failed = 0;
    for (size_t number = 1; number <= calls.size(); ++number) {
      // A sync changes nothing that a kill leaves: before and after it the files are the same.
      if (is_kill && number > 1 && calls[number - 2].starts_with("sync ")) continue;
      start();
      const Finished run = run_with_fault(command, name, int(number), is_kill);
      // Nothing that needs room was left to do.
      if (!is_kill && run.exit_code == 0) {
        EXPECT_EQ(folder_difference(at(wanted), at(name)), "");
        break;
      }
      ++failed;
      ASSERT_EQ(run.exit_code, is_kill ? 128 + SIGKILL : 3) << "call " << number << ": " << run.output;
      if (!is_kill) {
        ASSERT_NE(run.output.find("No space left on device"), std::string::npos) << run.output;
      }
      const Finished again = run_process(command);
      ASSERT_EQ(again.exit_code, 0) << "after call " << number << ": " << again.output;
      ASSERT_EQ(folder_difference(at(wanted), at(name)), "") << "after call " << number;
    }
    EXPECT_GT(failed, 0);
    std::printf("%d of %zu calls failed\n", failed, calls.size());
  }
  TemporaryFolder folder_;
};

/// What is on disk for sure at each line of a log. Follows what POSIX promises: content after fsync of the
/// file, a name after fsync of its folder.
class DurableFiles {
 public:
  explicit DurableFiles(std::string folder) : folder_(std::move(folder)) {}

  /// Takes the next call; empty, or what was done too early.
  std::string take(const std::string& line) {
    std::istringstream in(line);
    std::string call, path, to;
    in >> call >> path >> to;
    std::string early;
    if (call == "write") {
      // Lines of the journal speak of shards.
      if (path.ends_with("manifest.jsonl.partial")) early = unsafe("shard-");
      unsynced_.insert(path);
    } else if (call == "sync") {
      unsynced_.erase(path);
      if (path == folder_) names_.clear();
    } else if (call == "rename") {
      if (unsynced_.count(path) > 0) early = path + " isn't synced";
      // The manifest says that the data set is whole.
      if (to.ends_with("/manifest.jsonl")) early += unsafe("shard-") + unsafe("dataset.json");
      names_.insert(to);
    } else if (call == "remove") {
      if (path.ends_with("manifest.jsonl.partial")) early = unsafe("manifest.jsonl") + unsafe("shard-");
      if (path.ends_with("/manifest.jsonl")) early = unsafe("manifest.jsonl.partial");
      names_.erase(path);
      unsynced_.erase(path);
    }
    return early.empty() ? "" : line + ": " + early;
  }

 private:
  /// Files with this beginning that a power cut could take.
  std::string unsafe(const std::string& beginning) const {
    std::string found;
    for (const auto* set : {&unsynced_, &names_})
      for (const std::string& path : *set)
        if (fs::path(path).filename().string().starts_with(beginning) && !path.ends_with(".h5.partial"))
          found += path + " may be lost; ";
    return found;
  }
  std::string folder_;
  std::set<std::string> unsynced_, names_;
};

TEST_F(Faults, FilesReachTheDiskInAnOrderThatAPowerCutCannotHurt) {
  const auto check = [&](const Words& command, const std::string& name) {
    ASSERT_EQ(run_with_fault(command, name, 0, false).exit_code, 0);
    DurableFiles disk(at(name));
    const std::vector<std::string> calls = logged_calls();
    for (const std::string& line : calls) EXPECT_EQ(disk.take(line), "");
    EXPECT_GT(calls.size(), kFewestCalls) << "the library was not loaded";
  };
  check(ingest("one"), "one");
  check(merge("two"), "two");
  add("bb");
  check(ingest("one", {"--update"}), "one");
  // The model finds a name that is used too early.
  DurableFiles disk("/d");
  EXPECT_EQ(disk.take("write /d/shard-00000.h5.partial"), "");
  EXPECT_NE(disk.take("rename /d/shard-00000.h5.partial /d/shard-00000.h5"), "");
  EXPECT_NE(disk.take("write /d/manifest.jsonl.partial"), "");
}

TEST_F(Faults, KilledAtEachCallIngestGoesOn) {
  fail_everywhere(ingest("data"), "data", "whole", true, [] {});
}
TEST_F(Faults, KilledAtEachCallMergeGoesOn) {
  fail_everywhere(merge("data"), "data", "whole", true, [] {});
}
TEST_F(Faults, KilledAtEachCallUpdateGoesOn) {
  ASSERT_EQ(run_process(ingest("old")).exit_code, 0);
  add("bb");
  ASSERT_EQ(run_process(ingest("new")).exit_code, 0);
  fail_everywhere(ingest("data", {"--update"}), "data", "new", true,
                  [&] { fs::copy(at("old"), at("data")); });
}
TEST_F(Faults, FullAtEachCallIngestGoesOn) {
  fail_everywhere(ingest("data"), "data", "whole", false, [] {});
}
TEST_F(Faults, FullAtEachCallMergeGoesOn) {
  fail_everywhere(merge("data"), "data", "whole", false, [] {});
}
TEST_F(Faults, FullAtEachCallUpdateGoesOn) {
  ASSERT_EQ(run_process(ingest("old")).exit_code, 0);
  add("bb");
  ASSERT_EQ(run_process(ingest("new")).exit_code, 0);
  fail_everywhere(ingest("data", {"--update"}), "data", "new", false,
                  [&] { fs::copy(at("old"), at("data")); });
}

}  // namespace
}  // namespace zoetrope
