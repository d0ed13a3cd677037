// The real binary is killed with SIGKILL at random moments until it gets through: the bytes must be those of
// a run that nobody disturbed.
#include <signal.h>

#include <gtest/gtest.h>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"
#include "video/media/encode.h"
#include "video/store/dataset.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::Finished;
using testing_support::Process;
using testing_support::run_process;
using testing_support::TemporaryFolder;

std::map<std::string, std::string> bytes_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    files[entry.path().filename()] = read_file(entry.path());
  return files;
}

void make_sources(const std::string& folder) {
  fs::create_directories(folder);
  for (int i = 0; i < 40; ++i) {
    const Clip clip = testing_support::make_pattern_clip(1 + i % 30, 96, 128, 8, uint64_t(i));
    char stem[16];
    std::snprintf(stem, sizeof stem, "clip%02d", i);
    write_mp4(folder + "/" + stem + ".mp4", clip);
    testing_support::write_text(folder + "/" + stem + ".txt", std::string("clip ") + stem);
  }
  testing_support::write_text(folder + "/clip17b.mp4", "refused");
  testing_support::write_text(folder + "/clip17b.txt", "refused");
}

TEST(IngestCrash, TwentyKillsChangeNoByte) {
  const char* given = std::getenv("ZT_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE(testing::Message() << "ZT_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const TemporaryFolder folder;
  make_sources(folder.path() + "/clips");
  const auto command = [&](const std::string& name) {
    return std::vector<std::string>{
        ZT_BINARY,   "ingest", folder.path() + "/clips", folder.path() + "/" + name,
        "--area",    "3072",   "--shard-samples",        "2",
        "--workers", "2"};
  };
  const auto start = std::chrono::steady_clock::now();
  const Finished whole = run_process(command("whole"));
  const auto length =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  ASSERT_EQ(whole.exit_code, 1) << whole.output;  // one file is refused
  const auto expected = bytes_of(folder.path() + "/whole");
  ASSERT_GT(expected.size(), 20u);

  // A kill falls anywhere in the time that one whole run takes; a run that ends before its kill starts a new
  // round.
  int kills = 0, finished = 0;
  std::string name = "round0";
  while (kills < 20) {
    Process process(command(name));
    const auto moment = std::chrono::microseconds(random() % uint64_t(length.count() * 3 / 4 + 1));
    if (!process.wait_for(std::chrono::duration_cast<std::chrono::milliseconds>(moment)))
      process.signal_group(SIGKILL);
    const int exit_code = process.wait().exit_code;
    if (exit_code == 128 + SIGKILL) {
      ++kills;
      continue;
    }
    ASSERT_EQ(exit_code, 1) << process.output();
    ASSERT_TRUE(bytes_of(folder.path() + "/" + name) == expected) << "after " << kills << " kills";
    name = "round" + std::to_string(++finished);
  }
  const Finished last = run_process(command(name));
  ASSERT_EQ(last.exit_code, 1) << last.output;
  EXPECT_TRUE(bytes_of(folder.path() + "/" + name) == expected);
  EXPECT_EQ(Dataset(folder.path() + "/" + name).samples().size(), 40u);
}

TEST(IngestCrash, KillsOfAnUpdateChangeNoByte) {
  const char* given = std::getenv("ZT_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE(testing::Message() << "ZT_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const TemporaryFolder folder;
  const std::string clips = folder.path() + "/clips";
  make_sources(clips);
  const auto command = [&](const std::string& name) {
    return std::vector<std::string>{ZT_BINARY, "ingest",    clips,      folder.path() + "/" + name,
                                    "--area",  "3072",      "--update", "--shard-samples",
                                    "2",       "--workers", "2"};
  };
  ASSERT_EQ(run_process(command("data")).exit_code, 1);
  int kills = 0;
  for (int round = 0; kills < 10; ++round) {
    // One clip goes or comes back near the beginning, another changes near the end.
    if (round % 2 == 0) fs::rename(clips + "/clip03.mp4", folder.path() + "/clip03.mp4");
    else fs::rename(folder.path() + "/clip03.mp4", clips + "/clip03.mp4");
    testing_support::write_text(clips + "/clip33.txt", "caption " + std::to_string(round));
    const auto start = std::chrono::steady_clock::now();
    const std::string fresh = "fresh" + std::to_string(round);
    ASSERT_EQ(run_process(command(fresh)).exit_code, 1);
    const auto length = std::chrono::steady_clock::now() - start;
    for (bool finished = false; !finished;) {
      Process process(command("data"));
      const auto moment =
          std::chrono::duration_cast<std::chrono::milliseconds>(length) * int64_t(random() % 100) / 100;
      if (!process.wait_for(moment)) process.signal_group(SIGKILL);
      finished = process.wait().exit_code != 128 + SIGKILL;
      kills += !finished;
    }
    ASSERT_TRUE(bytes_of(folder.path() + "/data") == bytes_of(folder.path() + "/" + fresh))
        << "round " << round;
  }
}

}  // namespace
}  // namespace zoetrope
