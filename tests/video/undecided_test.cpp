// Policies for damaged clips, and clips that the watchdog stops: no verdict, no sealed data set, and in the
// end the bytes of a run that nothing disturbed.
#include <gtest/gtest.h>
#include <filesystem>
#include <map>

#include "core/files.h"
#include "tests/support/damage.h"
#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/ingest/ingest.h"
#include "video/media/encode.h"
#include "video/store/dataset.h"
#include "video/store/journal.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::make_pattern_clip;
using testing_support::run_ffmpeg;
using testing_support::TemporaryFolder;
using testing_support::write_text;
using Files = std::map<std::string, std::string>;

class Undecidedness : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(source());
    for (int i = 0; i < 9; ++i) add_clip(i, 1 + 4 * (i % 4));
    write_text(source() + "/clip4b.mp4", "no video at all");
    write_text(source() + "/clip4b.txt", "text");
    write_text(source() + "/clip6b.mp4", "its caption is missing");
  }
  std::string source() const { return folder_.path() + "/source"; }
  std::string target(const std::string& name) const { return folder_.path() + "/" + name; }
  void add_clip(int i, int64_t frames) const {
    const std::string stem = source() + "/clip" + std::to_string(i);
    write_mp4(stem + ".mp4", make_pattern_clip(frames, 48, 64, 8, uint64_t(i)));
    write_text(stem + ".txt", "clip " + std::to_string(i));
  }
  /// Clip 3 becomes a longer one with bad bytes in its packets.
  void damage_one() const {
    run_ffmpeg("-f lavfi -i testsrc2=s=64x48:r=8:d=4 -c:v libx264 -g 8 " + folder_.path() + "/sound.mp4");
    std::string bytes = read_file(folder_.path() + "/sound.mp4");
    testing_support::scramble(bytes, 30, 32);
    write_text(source() + "/clip3.mp4", bytes);
  }
  IngestRequest request(const std::string& name) const {
    IngestRequest out;
    out.source = source();
    out.dataset = target(name);
    out.workers = 2;
    out.decode.size.area = 32 * 24;
    out.shard_samples = 2;
    return out;
  }
  static IngestResult run(const IngestRequest& request) {
    return ingest(request, [](const IngestProgress&) {});
  }
  static void run_and_stop(const IngestRequest& request, int64_t after) {
    EXPECT_THROW(ingest(request,
                        [&](const IngestProgress& p) {
                          if (p.done >= after) throw Error("stopped");
                        }),
                 Error);
  }
  Files bytes_of(const std::string& name) const {
    Files files;
    for (const auto& entry : fs::directory_iterator(target(name)))
      files[entry.path().filename()] = read_file(entry.path());
    return files;
  }
  static std::string message_of(const IngestRequest& request) {
    try {
      run(request);
    } catch (const Error& error) { return error.what(); }
    return "";
  }
  TemporaryFolder folder_;
};

TEST_F(Undecidedness, AStoppedClipIsDecidedByTheNextRun) {
  run(request("whole"));
  const Files expected = bytes_of("whole");
  for (int64_t decided : {0, 1, 5, 10}) {
    const std::string name = "late" + std::to_string(decided);
    if (decided > 0) run_and_stop(request(name), decided);
    IngestRequest hurried = request(name);
    hurried.decode.clip_seconds = 1e-9;
    for (int again = 0; again < 2; ++again) {
      const IngestResult late = run(hurried);
      EXPECT_GT(late.undecided, 0) << name;
      EXPECT_EQ(late.entries.size(), 11u) << name << ": all others are decided";
      EXPECT_FALSE(fs::exists(target(name) + "/manifest.jsonl")) << name;
      EXPECT_THROW(Dataset{target(name)}, Error) << name;
      int64_t undecided = 0;
      for (const ManifestEntry& entry : read_journal(target(name)).entries) undecided += entry.undecided();
      EXPECT_EQ(undecided, late.undecided) << name;
    }
    EXPECT_EQ(run(request(name)).undecided, 0);
    EXPECT_TRUE(bytes_of(name) == expected) << name;
  }
}

TEST_F(Undecidedness, WhatFollowsAStoppedClipIsNotDecodedAgain) {
  run(request("data"));
  add_clip(2, 17);
  IngestRequest hurried = request("data");
  hurried.update = true;
  hurried.decode.clip_seconds = 1e-9;
  const IngestResult late = run(hurried);
  EXPECT_EQ(late.undecided, 2) << "the changed clip, and the refused one, which no cache holds";
  EXPECT_GT(late.reused, 5);
  const IngestResult result = run(request("data"));
  EXPECT_EQ(result.undecided, 0);
  EXPECT_GT(result.reused, 5) << "from the cache";
  run(request("fresh"));
  EXPECT_TRUE(bytes_of("data") == bytes_of("fresh"));
  EXPECT_FALSE(fs::exists(target("data") + "/previous.partial"));
}

TEST_F(Undecidedness, SourcesThatChangeMeanwhileAreFollowed) {
  IngestRequest hurried = request("data");
  hurried.decode.clip_seconds = 1e-9;
  run_and_stop(request("data"), 6);
  run(hurried);
  add_clip(1, 13);
  EXPECT_NE(message_of(request("data")).find("1 changed: clip1.mp4"), std::string::npos);
  IngestRequest update = request("data");
  update.update = true;
  run(update);
  run(request("fresh"));
  EXPECT_TRUE(bytes_of("data") == bytes_of("fresh"));
}

TEST_F(Undecidedness, PoliciesForDamage) {
  damage_one();
  const auto with = [&](const std::string& name, DamagePolicy policy) {
    IngestRequest out = request(name);
    out.damaged = policy;
    return out;
  };
  const auto clip3 = [](const IngestResult& result) {
    for (const ManifestEntry& entry : result.entries)
      if (entry.name == "clip3.mp4") return entry;
    return ManifestEntry{};
  };
  const ManifestEntry kept = clip3(run(with("clean", DamagePolicy::kKeepClean)));
  EXPECT_EQ(kept.verdict, "trimmed") << kept.reason;
  EXPECT_TRUE(kept.found_damage);
  const ManifestEntry dropped = clip3(run(with("drop", DamagePolicy::kDrop)));
  EXPECT_EQ(dropped.verdict, "refused");
  EXPECT_TRUE(dropped.found_damage);
  EXPECT_EQ(dropped.facts.damaged, kept.facts.damaged);
  EXPECT_NE(dropped.reason.find("--damaged drop"), std::string::npos) << dropped.reason;
  const std::string failed = message_of(with("fail", DamagePolicy::kFail));
  EXPECT_NE(failed.find("'clip3.mp4' is damaged"), std::string::npos) << failed;
  EXPECT_FALSE(fs::exists(target("fail") + "/manifest.jsonl"));
  EXPECT_NE(message_of(with("clean", DamagePolicy::kFail)).find("'clip3.mp4'"), std::string::npos)
      << "a finished data set with a damaged clip";
  EXPECT_NE(message_of(with("clean", DamagePolicy::kDrop)).find("other options"), std::string::npos);
  run(with("fail", DamagePolicy::kKeepClean));
  EXPECT_TRUE(bytes_of("fail") == bytes_of("clean")) << "the stopped run goes on with another policy";
}

TEST_F(Undecidedness, DamagedClipsGiveTheSameBytesForAnyNumberOfWorkers) {
  damage_one();
  run(request("one"));
  for (int64_t workers : {1, 3, 8}) {
    IngestRequest more = request("w" + std::to_string(workers));
    more.workers = workers;
    run(more);
    EXPECT_TRUE(bytes_of("w" + std::to_string(workers)) == bytes_of("one")) << workers;
  }
}

TEST_F(Undecidedness, LimitsArePartOfTheRules) {
  run(request("data"));
  IngestRequest other = request("data");
  other.decode.limits.max_packets = 3;
  EXPECT_NE(message_of(other).find("other options"), std::string::npos);
  other.dataset = target("few");
  int64_t refused = 0;
  for (const ManifestEntry& entry : run(other).entries)
    refused += entry.reason.find("--max-packets") != std::string::npos;
  EXPECT_EQ(refused, 6) << "clips of 5, 9 and 13 frames";
  IngestRequest hurried = request("data");
  hurried.decode.clip_seconds = 1e-9;
  EXPECT_TRUE(run(hurried).was_complete) << "the watchdog changes no byte";
}

}  // namespace
}  // namespace zoetrope
