// Damage of every kind is found, named by its clip, and made good again: the same bytes, decoding no more
// than the clips of damaged shards.
#include <gtest/gtest.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/media_folder.h"
#include "tests/support/small_dataset.h"
#include "video/ingest/ingest.h"
#include "video/store/verify.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::folder_bytes;
using testing_support::folder_difference;
using testing_support::SmallDataset;
using testing_support::TemporaryFolder;
using testing_support::write_text;

void flip(const std::string& path, size_t at) {
  std::string bytes = read_file(path);
  bytes.at(at) = char(bytes.at(at) ^ 0x10);
  write_text(path, bytes);
}

/// Where the payload of a clip begins in its shard; its first token must be like no other.
size_t payload_at(const std::string& shard, const Clip& clip) {
  const Tokens tokens = tokenize(clip, Patch{});
  return read_file(shard).find(std::string(reinterpret_cast<const char*>(tokens.tokens.raw()), 64));
}

bool names(const VerifyReport& report, const std::string& file, const std::string& clip,
           const std::string& what = "") {
  return std::any_of(report.damage.begin(), report.damage.end(), [&](const Damage& each) {
    return each.file == file && each.clip == clip && each.what.find(what) != std::string::npos;
  });
}

std::string text_of(const VerifyReport& report) {
  std::string text;
  for (const Damage& each : report.damage) text += each.file + " | " + each.clip + " | " + each.what + "\n";
  return text;
}

TEST(Verify, FindsNothingInASoundDataSet) {
  const SmallDataset small;
  std::vector<VerifyProgress> shown;
  const VerifyReport report =
      verify_dataset(small.folder(), [&](const VerifyProgress& now) { shown.push_back(now); });
  EXPECT_TRUE(report.sound()) << text_of(report);
  EXPECT_EQ(report.shards, 3);
  EXPECT_EQ(report.clips, int64_t(small.clips().size()));
  ASSERT_EQ(shown.size(), 4u) << "at the begin and after each shard";
  EXPECT_EQ(shown.front().bytes, 0);
  EXPECT_EQ(shown.back().bytes, report.bytes);
  for (const VerifyProgress& now : shown) {
    EXPECT_EQ(now.total_bytes, report.bytes);
    EXPECT_EQ(now.total_shards, 3);
  }
}

TEST(Verify, NamesTheClipWhosePayloadIsDamaged) {
  const SmallDataset small;
  for (const size_t index : {0, 4, 6}) {
    const Clip& clip = small.clips()[index];
    const std::string file = "shard-0000" + std::to_string(index / 3) + ".h5",
                      path = small.folder() + "/" + file;
    const std::string good = read_file(path);
    const size_t at = payload_at(path, clip);
    ASSERT_NE(at, std::string::npos);
    flip(path, at + 5);
    const VerifyReport report = verify_dataset(small.folder());
    EXPECT_TRUE(names(report, file, clip.name)) << text_of(report);
    EXPECT_TRUE(names(report, file, "", "content hash")) << text_of(report);
    EXPECT_EQ(report.damaged_shards, 1);
    EXPECT_FALSE(report.index_is_damaged);
    EXPECT_EQ(report.clips, int64_t(small.clips().size())) << "all others were looked at";
    write_text(path, good);
  }
}

TEST(Verify, NamesWhatIsMissingCutSwappedOrStrange) {
  const auto after = [](const std::function<void(const std::string&)>& damage) {
    const SmallDataset small;
    damage(small.folder());
    return verify_dataset(small.folder());
  };
  const SmallDataset sound;
  const std::string lost = sound.clips()[4].name;
  VerifyReport report = after([](const std::string& f) { fs::remove(f + "/shard-00001.h5"); });
  EXPECT_TRUE(names(report, "shard-00001.h5", lost, "lost")) << text_of(report);
  EXPECT_EQ(report.damaged_clips, 3);
  report = after([](const std::string& f) { fs::resize_file(f + "/shard-00001.h5", 3000); });
  EXPECT_TRUE(names(report, "shard-00001.h5", lost)) << text_of(report);
  EXPECT_TRUE(names(report, "shard-00001.h5", "", "has 3000 bytes")) << text_of(report);
  report = after([](const std::string& f) {
    fs::rename(f + "/shard-00000.h5", f + "/x");
    fs::rename(f + "/shard-00001.h5", f + "/shard-00000.h5");
    fs::rename(f + "/x", f + "/shard-00001.h5");
  });
  EXPECT_EQ(report.damaged_shards, 2);
  EXPECT_EQ(report.damaged_clips, 6) << text_of(report);
  report = after([](const std::string& f) { fs::copy_file(f + "/shard-00000.h5", f + "/shard-00009.h5"); });
  EXPECT_TRUE(names(report, "shard-00009.h5", "", "no part")) << text_of(report);
  report = after([](const std::string& f) { flip(f + "/manifest.jsonl", 30); });
  EXPECT_TRUE(report.index_is_damaged);
  report = after([](const std::string& f) { fs::remove(f + "/manifest.jsonl"); });
  EXPECT_TRUE(names(report, "manifest.jsonl", "")) << text_of(report);
  report = after([](const std::string& f) { fs::remove(f + "/dataset.json"); });
  EXPECT_TRUE(names(report, "dataset.json", "")) << text_of(report);
  report = after([](const std::string& f) {
    std::string json = read_file(f + "/dataset.json");
    json.replace(json.find("\"samples\": 8"), 12, "\"samples\": 9");
    write_text(f + "/dataset.json", json);
  });
  EXPECT_TRUE(names(report, "dataset.json", "", "was changed")) << text_of(report);
  EXPECT_THROW(verify_dataset("/nonexistent"), Error);
  const TemporaryFolder empty;
  EXPECT_THROW(verify_dataset(empty.path()), Error);
}

TEST(Verify, FindsEveryFlippedBitAndNeverThrows) {
  const char* given = std::getenv("ZT_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE(testing::Message() << "ZT_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const SmallDataset small;
  const auto files = folder_bytes(small.folder());
  for (int turn = 0; turn < 100; ++turn) {
    const auto& [name, good] = *std::next(files.begin(), int64_t(random() % files.size()));
    std::string bad = good;
    const size_t at = random() % bad.size();
    bad[at] = char(bad[at] ^ (1 << random() % 8));
    write_text(small.folder() + "/" + name, bad);
    // Blanks of dataset.json have no meaning; whatever it says is compared.
    const bool blank = name == "dataset.json" && std::isspace(uint8_t(good[at])) != 0;
    const VerifyReport report = verify_dataset(small.folder());
    EXPECT_TRUE(!report.sound() || blank) << name << " byte " << at;
    write_text(small.folder() + "/" + name, good);
  }
}

class Repair : public testing::Test {
 protected:
  void SetUp() override {
    testing_support::make_media_folder(folder_.path() + "/source", 10);
    run(request("whole"));
    fs::copy(at("whole"), at("data"));
  }
  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }
  IngestRequest request(const std::string& name, bool repair = false) const {
    IngestRequest out;
    out.source = at("source");
    out.dataset = at(name);
    out.workers = 2;
    out.decode.size.area = 32 * 24;
    out.shard_samples = 3;
    out.repair = repair;
    return out;
  }
  IngestResult run(const IngestRequest& request, int64_t* decoded = nullptr) const {
    return ingest(request, [&](const IngestProgress& p) {
      if (decoded != nullptr) *decoded = p.total;
    });
  }
  TemporaryFolder folder_;
};

TEST_F(Repair, MakesDamagedShardsAnewAndDecodesNoMore) {
  int64_t clips = -1;
  EXPECT_EQ(run(request("data", true), &clips).repaired, 0);
  EXPECT_EQ(clips, -1) << "nothing was decoded";
  const std::string shard = at("data/shard-00001.h5");
  flip(shard, fs::file_size(shard) / 2);
  EXPECT_EQ(run(request("data")).repaired, 0) << "a bit is found when asked for";
  EXPECT_EQ(run(request("data", true), &clips).repaired, 1);
  EXPECT_EQ(clips, 3);
  EXPECT_EQ(folder_difference(at("whole"), at("data")), "");
  fs::remove(at("data/shard-00000.h5"));
  fs::resize_file(at("data/shard-00003.h5"), 100);
  const IngestResult result = run(request("data"));
  EXPECT_EQ(result.repaired, 2) << "what is missing or cut off is found anyway";
  EXPECT_TRUE(result.was_complete);
  EXPECT_EQ(folder_difference(at("whole"), at("data")), "");
  EXPECT_TRUE(verify_dataset(at("data")).sound());
  write_text(at("data/pairing.json"), "{");
  EXPECT_TRUE(names(verify_dataset(at("data")), "pairing.json", "", "is not JSON"));
  run(request("data"));
  EXPECT_EQ(folder_difference(at("whole"), at("data")), "");
}

TEST_F(Repair, ChangesNothingWhenTheSourceIsNotWhatItWas) {
  const std::string shard = at("data/shard-00001.h5");
  flip(shard, fs::file_size(shard) / 2);
  const auto before = folder_bytes(at("data"));
  write_text(at("source/clip004.txt"), "another caption");
  EXPECT_THROW(run(request("data", true)), Error);
  EXPECT_TRUE(folder_bytes(at("data")) == before);
}

}  // namespace
}  // namespace zoetrope
