// The real binary is killed with SIGKILL at random moments until it gets through: the bytes must be those of
// a run that nobody disturbed.
#include <signal.h>

#include <gtest/gtest.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "tests/support/media.h"
#include "tests/support/media_folder.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"
#include "video/store/dataset.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::Finished;
using testing_support::folder_difference;
using testing_support::make_media_folder;
using testing_support::Process;
using testing_support::run_process;
using testing_support::TemporaryFolder;

std::mt19937_64 seeded(uint64_t& seed) {
  const char* given = std::getenv("ZT_TEST_SEED");
  seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  return std::mt19937_64(seed);
}

/// Commands of one kind, killed at moments anywhere in the time that an undisturbed one takes.
class KilledCommands {
 public:
  explicit KilledCommands(std::mt19937_64& random) : random_(random) {}

  /// Runs a command, which must get through, and notes how long it took.
  void measure(const std::vector<std::string>& command) {
    const auto start = std::chrono::steady_clock::now();
    const Finished whole = run_process(command);
    ASSERT_LE(whole.exit_code, 1) << whole.output;
    length_ = std::chrono::steady_clock::now() - start;
  }
  /// Runs a command again and again, killed each time, until a run ends before its kill.
  void run(const std::vector<std::string>& command) {
    for (;;) {
      Process process(command);
      const auto moment = length_ * double(random_() % 1000) / 1200;
      if (!process.wait_for(std::chrono::duration_cast<std::chrono::milliseconds>(moment)))
        process.signal_group(SIGKILL);
      const int exit_code = process.wait().exit_code;
      if (exit_code != 128 + SIGKILL) {
        ASSERT_LE(exit_code, 1) << process.output();
        return;
      }
      ++kills_;
    }
  }
  int kills() const { return kills_; }

 private:
  std::mt19937_64& random_;
  std::chrono::duration<double> length_{};
  int kills_ = 0;
};

class IngestCrash : public testing::Test {
 protected:
  void SetUp() override { make_media_folder(at("clips"), 40); }
  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }
  std::vector<std::string> command(const std::string& name, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {ZT_BINARY, "ingest",          at("clips"), at(name),    "--area",
                                      "3072",    "--shard-samples", "3",         "--workers", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  TemporaryFolder folder_;
};

TEST_F(IngestCrash, FiftyKillsOfIngestPartsAndMergeChangeNoByte) {
  uint64_t seed = 0;
  std::mt19937_64 random = seeded(seed);
  SCOPED_TRACE(testing::Message() << "ZT_TEST_SEED=" << seed);
  constexpr int kParts = 3;
  const auto part = [&](const std::string& round, int i) {
    return command(round + std::to_string(i), {"--part", std::to_string(i) + "/" + std::to_string(kParts)});
  };
  const auto merge = [&](const std::string& name, const std::string& round) {
    std::vector<std::string> words = {ZT_BINARY, "merge", at(name)};
    for (int i = kParts; i >= 1; --i) words.push_back(at(round + std::to_string(i)));
    return words;
  };
  KilledCommands ingests(random), parts(random), merges(random);
  ingests.measure(command("whole"));
  for (int i = 1; i <= kParts; ++i) parts.measure(part("sound", i));
  merges.measure(merge("merged", "sound"));
  ASSERT_GT(testing_support::folder_bytes(at("whole")).size(), 12u);
  ASSERT_EQ(folder_difference(at("whole"), at("merged")), "");
  for (int round = 0; ingests.kills() < 20 || parts.kills() < 15 || merges.kills() < 15; ++round) {
    const std::string name = "round" + std::to_string(round);
    if (ingests.kills() < 20) {
      ingests.run(command(name));
      ASSERT_EQ(folder_difference(at("whole"), at(name)), "") << ingests.kills() << " kills";
    }
    for (int i = 1; i <= kParts && parts.kills() < 15; ++i) {
      parts.run(part(name + "part", i));
      ASSERT_EQ(folder_difference(at("sound" + std::to_string(i)), at(name + "part" + std::to_string(i))), "")
          << parts.kills() << " kills";
    }
    merges.run(merge(name + "merged", "sound"));
    ASSERT_EQ(folder_difference(at("whole"), at(name + "merged")), "") << merges.kills() << " kills";
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(ingests.kills() + parts.kills() + merges.kills(), 50);
  std::printf("%d kills of ingest, %d of parts, %d of merge\n", ingests.kills(), parts.kills(),
              merges.kills());
  EXPECT_EQ(run_process({ZT_BINARY, "inspect", at("merged"), "--verify"}).exit_code, 0);
  EXPECT_EQ(Dataset(at("merged")).samples().size(), 40u);
}

TEST_F(IngestCrash, KillsOfARepairChangeNoByte) {
  uint64_t seed = 0;
  std::mt19937_64 random = seeded(seed);
  SCOPED_TRACE(testing::Message() << "ZT_TEST_SEED=" << seed);
  ASSERT_LE(run_process(command("whole")).exit_code, 1);
  fs::copy(at("whole"), at("data"));
  const auto damage = [&] {
    for (const char* shard : {"/shard-00001.h5", "/shard-00004.h5", "/shard-00007.h5"})
      testing_support::write_text(at("data") + shard, "damaged");
  };
  KilledCommands repairs(random);
  damage();
  repairs.measure(command("data", {"--repair"}));
  while (repairs.kills() < 8) {
    damage();
    repairs.run(command("data", {"--repair"}));
    ASSERT_EQ(folder_difference(at("whole"), at("data")), "") << repairs.kills() << " kills";
    if (HasFatalFailure()) return;
  }
}

TEST_F(IngestCrash, KillsOfAnUpdateChangeNoByte) {
  uint64_t seed = 0;
  std::mt19937_64 random = seeded(seed);
  SCOPED_TRACE(testing::Message() << "ZT_TEST_SEED=" << seed);
  const std::string clips = at("clips");
  ASSERT_EQ(run_process(command("data")).exit_code, 1);
  int kills = 0;
  for (int round = 0; kills < 10; ++round) {
    // One clip goes or comes back near the beginning, another changes near the end.
    if (round % 2 == 0) fs::rename(clips + "/clip003.mp4", at("clip003.mp4"));
    else fs::rename(at("clip003.mp4"), clips + "/clip003.mp4");
    testing_support::write_text(clips + "/clip033.txt", "caption " + std::to_string(round));
    const auto start = std::chrono::steady_clock::now();
    const std::string fresh = "fresh" + std::to_string(round);
    ASSERT_EQ(run_process(command(fresh)).exit_code, 1);
    const auto length = std::chrono::steady_clock::now() - start;
    for (bool finished = false; !finished;) {
      Process process(command("data", {"--update"}));
      const auto moment =
          std::chrono::duration_cast<std::chrono::milliseconds>(length) * int64_t(random() % 100) / 100;
      if (!process.wait_for(moment)) process.signal_group(SIGKILL);
      finished = process.wait().exit_code != 128 + SIGKILL;
      kills += !finished;
    }
    ASSERT_EQ(folder_difference(at("data"), at(fresh)), "") << "round " << round;
  }
}

}  // namespace
}  // namespace zoetrope
