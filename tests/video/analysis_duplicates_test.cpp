// Copies of a clip are found whatever was done to them; other clips are not. And the index behind it finds
// what a comparison of all pairs finds.
#include <gtest/gtest.h>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/analysis/duplicates.h"
#include "video/ingest/ingest.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::run_ffmpeg;
using testing_support::TemporaryFolder;
using testing_support::write_text;

class Duplicates : public testing::Test {
 protected:
  std::string source(const std::string& name) const { return folder_.path() + "/clips/" + name; }
  void SetUp() override { fs::create_directories(folder_.path() + "/clips"); }

  /// A clip of three seconds; `codec` words come before the file's name.
  void make(const std::string& name, const std::string& input, const std::string& filters = "null",
            const std::string& codec = "-c:v libx264 -preset veryfast -pix_fmt yuv420p") const {
    run_ffmpeg("-f lavfi -i " + input + " -vf " + filters + " -t 3 " + codec + " " + source(name));
  }
  IngestRequest request(const std::string& name, DuplicatePolicy policy, int64_t workers = 2) const {
    IngestRequest out;
    out.source = folder_.path() + "/clips";
    out.dataset = folder_.path() + "/" + name;
    out.plan.missing = MissingCaption::kEmpty;
    out.analysis.duplicates = policy;
    out.workers = workers;
    out.shard_samples = 2;
    return out;
  }
  static std::map<std::string, ManifestEntry> run(const IngestRequest& request) {
    std::map<std::string, ManifestEntry> entries;
    for (ManifestEntry& entry : ingest(request, [](const IngestProgress&) {}).entries)
      entries[entry.name] = entry;
    return entries;
  }
  static std::map<std::string, std::string> bytes_of(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder))
      files[entry.path().filename()] = read_file(entry.path());
    return files;
  }
  TemporaryFolder folder_;
};

constexpr const char* kMandelbrot = "mandelbrot=s=320x240:r=25";

TEST_F(Duplicates, AreFoundWhateverWasDoneToThem) {
  make("a.mp4", kMandelbrot);
  fs::copy_file(source("a.mp4"), source("b-copy.mp4"));
  run_ffmpeg("-i " + source("a.mp4") + " -c copy " + source("c-container.mkv"));
  const std::map<std::string, std::string> filters = {
      {"d-small.mp4", "scale=160:120"},      {"e-rate.mp4", "fps=12"},
      {"f-shift.mp4", "trim=start_frame=1"}, {"g-letterbox.mp4", "pad=320:320:0:40"},
      {"h-blur.mp4", "boxblur=10"},          {"i-noise.mp4", "noise=alls=20:allf=t"}};
  for (const auto& [name, filter] : filters) make(name, kMandelbrot, filter);
  make("j-crf.mp4", kMandelbrot, "null", "-c:v libx264 -crf 40 -pix_fmt yuv420p");
  make("k-mirrored.mp4", kMandelbrot, "hflip");
  make("l-other.mp4", "testsrc2=s=320x240:r=25");
  make("m-life.mp4", "life=s=320x240:r=25:mold=10:seed=1:life_color=white:death_color=gray");
  make("n-black.mp4", "color=black:s=320x240:r=25");
  make("o-black.mp4", "color=black:s=160x120:r=25");
  make("p-black.mkv", "color=black:s=320x240:r=25");

  const auto entries = run(request("report", DuplicatePolicy::kReport));
  ASSERT_EQ(entries.size(), 16u);
  EXPECT_EQ(entries.at("a.mp4").analysis.duplicate.name, "");
  EXPECT_EQ(entries.at("b-copy.mp4").analysis.duplicate.kind, "file");
  EXPECT_EQ(entries.at("c-container.mkv").analysis.duplicate.kind, "frames");
  for (const auto& [name, entry] : entries) {
    EXPECT_FALSE(entry.refused()) << name << ": " << entry.reason;
    const bool is_copy = name > "a.mp4" && name < "k";
    EXPECT_EQ(entry.analysis.duplicate.name, is_copy ? "a.mp4" : "") << name;
    if (name > "d" && name < "k") { EXPECT_EQ(entry.analysis.duplicate.kind, "near") << name; }
  }
  const auto dropped = run(request("drop", DuplicatePolicy::kDrop));
  for (const auto& [name, entry] : dropped) {
    EXPECT_EQ(entry.refused(), name > "a.mp4" && name < "k") << name;
    EXPECT_EQ(entry.refused(), entry.analysis.filtered && entry.skipped) << name;
  }
  EXPECT_EQ(dropped.at("b-copy.mp4").reason,
            "duplicate: the same bytes as a.mp4, 1 of its seconds match (--duplicates drop)");
  for (const auto& [name, entry] : run(request("off", DuplicatePolicy::kOff)))
    EXPECT_EQ(entry.analysis.duplicate.name, "") << name;
}

TEST_F(Duplicates, AreDecidedInPathOrderWhateverStopsTheRun) {
  make("e.mp4", kMandelbrot);
  make("c.mp4", kMandelbrot, "scale=160:120");
  make("d.mp4", "testsrc2=s=160x120:r=25");
  for (const char* copy : {"a.mp4", "f.mp4", "h.mp4"}) fs::copy_file(source("d.mp4"), source(copy));
  make("b.mp4", "life=s=160x120:r=25:mold=10:seed=1:life_color=white:death_color=gray");
  make("g.mp4", kMandelbrot, "boxblur=10");
  for (const DuplicatePolicy policy : {DuplicatePolicy::kReport, DuplicatePolicy::kDrop}) {
    const std::string kind = name_of(policy);
    const auto entries = run(request(kind, policy, 1));
    EXPECT_EQ(entries.at("e.mp4").analysis.duplicate.name, "c.mp4") << "the first in path order";
    EXPECT_EQ(entries.at("h.mp4").analysis.duplicate.name, "a.mp4");
    const auto expected = bytes_of(folder_.path() + "/" + kind);
    run(request(kind + "4", policy, 4));
    EXPECT_TRUE(bytes_of(folder_.path() + "/" + kind + "4") == expected);
    for (int64_t after = 1; after < 8; ++after) {
      const std::string name = kind + "-stopped" + std::to_string(after);
      const auto stop = [&](const IngestProgress& state) {
        if (state.done >= after) throw Error("stopped");
      };
      EXPECT_THROW(ingest(request(name, policy), stop), Error);
      run(request(name, policy));
      EXPECT_TRUE(bytes_of(folder_.path() + "/" + name) == expected) << name;
    }
  }
}

TEST(FrameHashes, SurviveTextAndCountBits) {
  FrameHash hash;
  hash.bits = {1, 0x8000000000000000, 0, 0xfedcba9876543210};
  EXPECT_EQ(hash_text(hash),
            "0000000000000001"
            "8000000000000000"
            "0000000000000000"
            "fedcba9876543210");
  EXPECT_EQ(hash_of_text(hash_text(hash)), hash);
  EXPECT_EQ(hamming_distance(hash, FrameHash{}), 34);
  EXPECT_THROW(hash_of_text("12"), Error);
  const Thumbnail flat;
  EXPECT_EQ(hash_quality(flat), 0);
}

TEST(DuplicateIndexes, FindWhatAllPairsFind) {
  const char* given = std::getenv("ZT_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE(testing::Message() << "ZT_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  DuplicateIndex index;
  std::vector<FrameHash> firsts;
  int found = 0;
  for (int i = 0; i < 400; ++i) {
    FrameHash hash;
    if (firsts.empty() || i % 2 == 0) {
      for (uint64_t& word : hash.bits) word = random();
    } else {  // 20 to 43 flipped bits around the limit of 31
      hash = firsts[random() % firsts.size()];
      for (uint64_t flips = 20 + random() % 24; flips > 0;) {
        const uint64_t bit = random() % 256, mask = uint64_t(1) << (bit % 64);
        if ((hash.bits[bit / 64] & mask) != 0 && random() % 2 == 0) continue;
        hash.bits[bit / 64] ^= mask;
        --flips;
      }
    }
    std::string expected;
    for (size_t k = 0; k < firsts.size() && expected.empty(); ++k)
      if (hamming_distance(firsts[k], hash) <= 31) expected = "clip" + std::to_string(k);
    ManifestEntry entry;
    entry.name = "clip" + std::to_string(firsts.size());
    entry.verdict = "kept";
    entry.source_hash = "hash" + std::to_string(i);
    entry.analysis.frames_hash = entry.source_hash;
    entry.analysis.frame_hashes = {hash_text(hash)};
    index.decide(entry);
    ASSERT_EQ(entry.analysis.duplicate.name, expected) << i;
    if (expected.empty()) firsts.push_back(hash);
    found += !expected.empty();
  }
  EXPECT_GT(found, 20);
}

}  // namespace
}  // namespace zoetrope
