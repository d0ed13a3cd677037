// What is found in awkward files: counts, times, order, and why some are refused. That every frame is the
// right one is the matter of frame_exact_test.cpp.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "tests/support/trap_files.h"
#include "video/media/decode.h"

namespace zoetrope {
namespace {

using testing_support::trap_file;

DecodeRules rules_at(double fps) {
  DecodeRules rules;
  rules.fps = fps;
  rules.size = {{1, 1, 1}, 1 << 24, false};
  rules.max_seconds = 1000;
  return rules;
}

DecodedClip decode(const std::string& name, double fps, const std::vector<Window>& windows = {}) {
  return decode_file(trap_file(name), rules_at(fps), windows).at(0);
}

std::vector<int64_t> shown(const DecodedClip& decoded) {
  std::vector<int64_t> out;
  for (const FrameSource& source : decoded.clip.sources) out.push_back(source.source_index);
  return out;
}

std::vector<int64_t> numbers(int64_t count) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(i);
  return out;
}

void expect_text(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' lacks '" << part << "'";
}

void expect_cut(const DecodedClip& decoded, const std::string& part) {
  std::string all;
  for (const std::string& cut : decoded.cuts) all += cut + "; ";
  expect_text(all, part);
}

/// Half of the last digit that a time base of 90 kHz or 16 kHz leaves.
constexpr double kTick = 0.5 / 12800;

TEST(Trap, CountsFramesAndNotSecondsTimesRate) {
  EXPECT_EQ(shown(decode("t01.mp4", 16)), numbers(49));
  EXPECT_EQ(decode("t01.mkv", 16).facts.presented, 49) << "whose times are whole milliseconds";
}

TEST(Trap, TakesTheTimesOfAVariableRate) {
  for (const char* name : {"vfr.mp4", "vfr.mkv"}) {
    const DecodedClip decoded = decode(name, 30);
    EXPECT_EQ(decoded.facts.presented, 50) << name;
    EXPECT_NEAR(decoded.facts.first_seconds, 0, 0.0005) << name;
    EXPECT_NEAR(decoded.facts.last_seconds, 2.9, 0.0005 + kTick)
        << name << ": Matroska rounds to milliseconds";
    EXPECT_FALSE(decoded.found_damage) << name;
  }
  std::vector<int64_t> each = numbers(30);
  for (int64_t i = 30; i < 50; ++i) each.insert(each.end(), i < 49 ? 3 : 1, i);
  EXPECT_EQ(shown(decode("vfr.mp4", 30)), each) << "the last lasts 1/30 s, which its container says";
}

TEST(Trap, StartsWhereTheFirstFrameIs) {
  EXPECT_NEAR(decode("nonzero_start.mp4", 25).facts.first_seconds, 10, kTick);
  EXPECT_NEAR(decode("start14.ts", 25).facts.first_seconds, 1.48, kTick);
  for (const char* name : {"nonzero_start.mp4", "start14.ts"})
    EXPECT_EQ(shown(decode(name, 25)), numbers(50)) << name;
}

TEST(Trap, GoesOnWhereTimestampsWrap) {
  for (const char* name : {"wrap.ts", "wrap.mpg"}) {
    const DecodedClip decoded = decode(name, 25);
    EXPECT_EQ(shown(decoded), numbers(75)) << name;
    EXPECT_NEAR(decoded.facts.last_seconds - decoded.facts.first_seconds, 74.0 / 25, kTick) << name;
  }
}

TEST(Trap, HonoursEditListsAndDiscardedPackets) {
  const DecodedClip decoded = decode("elst.mp4", 25);
  EXPECT_EQ(decoded.facts.packets, 30);
  EXPECT_EQ(shown(decoded), numbers(25));
  EXPECT_NEAR(decoded.facts.first_seconds, 0, kTick);
  const DecodedClip negative = decode("negative.mp4", 25);
  EXPECT_EQ(negative.facts.presented, 37) << "those of 50 that do not lie before the start";
  EXPECT_GT(negative.facts.packets, negative.facts.presented) << "which need some that do";
  EXPECT_NEAR(negative.facts.first_seconds, 0, kTick);
}

TEST(Trap, KeepsEveryFrameOfReorderedAndOpenGroups) {
  const std::pair<const char*, int64_t> cases[] = {
      {"hevc161.mp4", 161}, {"d265.mp4", 100}, {"opengop264.mp4", 100}, {"h179.mp4", 10},   {"og264.ts", 100},
      {"og265.ts", 100},    {"d265.mkv", 100}, {"mp2.ts", 75},          {"opengop.mpg", 75}};
  for (const auto& [name, frames] : cases) {
    const DecodedClip decoded = decode(name, 25);
    EXPECT_EQ(decoded.facts.presented, frames) << name;
    EXPECT_EQ(decoded.facts.out_of_order, 0) << name;
    EXPECT_FALSE(decoded.found_damage) << name;
  }
}

TEST(Trap, NeedsNoDurationAndNoCount) {
  for (const char* name : {"nodur.webm", "nodur.mkv"}) {
    const DecodedClip decoded = decode(name, 25);
    EXPECT_EQ(decoded.facts.declared, -1) << name;
    EXPECT_TRUE(std::isnan(decoded.facts.stream_duration)) << name;
    EXPECT_TRUE(std::isnan(decoded.facts.container_duration)) << name;
    EXPECT_EQ(shown(decoded), numbers(50)) << name;
  }
}

TEST(Trap, TellsATruncatedFileFromAWholeOne) {
  const DecodedClip front = decode("trunc_faststart.mp4", 25);
  EXPECT_EQ(front.facts.declared, 100);
  EXPECT_LT(front.facts.packets, 100);
  EXPECT_GE(front.facts.packets, front.facts.presented);
  EXPECT_LE(front.clip.num_frames, front.facts.presented);
  EXPECT_TRUE(front.found_damage);
  expect_cut(front, "ends early");
  expect_text(decode("trunc_nomoov.mp4", 25).refused, "moov atom not found");
  EXPECT_TRUE(decode("trunc.mkv", 25).found_damage);
  for (const char* name : {"full.mp4", "full_end.mp4", "full.mkv"}) {
    EXPECT_FALSE(decode(name, 25).found_damage) << name;
    EXPECT_EQ(shown(decode(name, 25)), numbers(100)) << name;
  }
}

TEST(Trap, GivesEachHopelessFileAReasonOfItsOwn) {
  const testing_support::TemporaryFolder folder;
  const auto path = [&](const char* name) { return folder.path() + "/" + name; };
  testing_support::write_text(path("empty.mp4"), "");
  testing_support::write_text(path("text.mp4"), "this is a text file\n");
  testing_support::write_text(path("locked.mp4"), "bytes");
  std::filesystem::create_directory(path("folder.mp4"));
  std::filesystem::create_symlink("nowhere.mp4", path("dangling.mp4"));
  const std::pair<const char*, const char*> cases[] = {
      {"empty.mp4", "an empty file (0 bytes)"},
      {"text.mp4", "the content is text"},
      {"folder.mp4", "a folder, not a file"},
      {"dangling.mp4", "a symbolic link that leads nowhere"}};
  for (const auto& [name, reason] : cases)
    expect_text(decode_file(path(name), rules_at(8)).at(0).refused, reason);
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(path("locked.mp4").c_str(), 0), 0);
  const uid_t self = geteuid(), nobody = 65534;
  if (self == 0) {  // who can read everything
    ASSERT_EQ(seteuid(nobody), 0);
  }
  const std::string refused = decode_file(path("locked.mp4"), rules_at(8)).at(0).refused;
  if (self == 0) { ASSERT_EQ(seteuid(self), 0); }
  expect_text(refused, "can't be read: Permission denied");
}

TEST(Trap, FollowsAChangeOfSize) {
  const DecodedClip raw = decode("reschange.h264", 25);
  EXPECT_EQ(shown(raw), numbers(50));
  EXPECT_EQ(raw.clip.width, 160);
  expect_cut(raw, "the picture's size changes 1 times");
  const DecodedClip stream = decode("reschange.ts", 25);
  EXPECT_EQ(stream.facts.presented, 50);
  expect_cut(stream, "the picture's size changes 1 times");
}

TEST(Trap, JoinsPartsWhoseTimestampsStartOver) {
  for (const char* name : {"restart.mpg", "restart_earlier.mpg"}) {
    const DecodedClip decoded = decode(name, 25);
    EXPECT_EQ(shown(decoded), numbers(50)) << name;
    expect_cut(decoded, "timestamps start over 1 times");
  }
  // Where packets are numbered, the first of a new part says that some are missing before it.
  const DecodedClip stream = decode("restart.ts", 25, {{{1, 2}, {3, 2}}});
  EXPECT_TRUE(stream.found_damage);
  EXPECT_EQ(stream.facts.jumps, 0);
}

TEST(Trap, CountsFramesWhereTheContainerHasNoTimes) {
  const std::pair<const char*, int64_t> cases[] = {
      {"m4b.avi", 50}, {"full.avi", 100}, {"a.h264", 25}, {"raw.m2v", 25}};
  for (const auto& [name, frames] : cases) EXPECT_EQ(shown(decode(name, 25)), numbers(frames)) << name;
  for (const char* name : {"raw.hevc", "raw.m4v", "raw.ivf"})
    EXPECT_EQ(shown(decode(name, 30)), numbers(30)) << name;
}

TEST(Trap, KeepsOddAndCroppedSizes) {
  const struct {
    const char* name;
    int64_t width, height;
  } cases[] = {
      {"odd_vp9.mp4", 321, 241}, {"odd444.mp4", 321, 241}, {"w500.mp4", 500, 500}, {"crop.mp4", 300, 230}};
  for (const auto& [name, width, height] : cases) {
    const DecodedClip decoded = decode(name, 10);
    EXPECT_EQ(decoded.clip.width, width) << name;
    EXPECT_EQ(decoded.clip.height, height) << name;
    EXPECT_EQ(shown(decoded), numbers(10)) << name;
  }
}

/// How much rows differ from the mean of their neighbours: fields of different moments make combs.
double comb(const Clip& clip) {
  double sum = 0;
  for (int64_t t = 0; t < clip.num_frames; ++t)
    for (int64_t y = 1; y + 1 < clip.height; ++y)
      for (int64_t x = 0; x < clip.width * 3; ++x) {
        const uint8_t* row = clip.frame(t) + y * clip.width * 3 + x;
        sum += std::abs(2.0 * row[0] - row[-clip.width * 3] - row[clip.width * 3]);
      }
  return sum / double(clip.num_frames);
}

TEST(Trap, FlagsTwoFieldsAndMakesWholePicturesOnRequest) {
  for (const char* name : {"ilace.mp4", "ilace.mpg"}) {
    const DecodedClip plain = decode(name, 25);
    EXPECT_EQ(plain.facts.interlaced, 25) << name;
    DecodeRules rules = rules_at(25);
    rules.deinterlace = true;
    const DecodedClip whole = decode_file(trap_file(name), rules).at(0);
    EXPECT_EQ(whole.facts.interlaced, 25) << name;
    EXPECT_EQ(shown(whole), shown(plain)) << name;
    const double progressive = comb(decode("progressive.mp4", 25).clip);
    EXPECT_GT(comb(plain.clip) - comb(whole.clip), comb(whole.clip) - progressive)
        << name << ": nearer to the same scene taken as whole pictures";
  }
  DecodeRules rules = rules_at(25);
  rules.deinterlace = true;
  const DecodedClip progressive = decode("opengop264.mp4", 25);
  EXPECT_EQ(progressive.facts.interlaced, 0);
  EXPECT_TRUE(decode_file(trap_file("opengop264.mp4"), rules).at(0).clip.pixels == progressive.clip.pixels);
}

TEST(Trap, SkipsGroupsThatNoWindowShows) {
  const struct {
    const char* name;
    double fps;
    Window window;
  } cases[] = {{"gop150.mp4", 8, {{9, 1}, {10, 1}}},
               {"gop150.mkv", 8, {{9, 1}, {10, 1}}},
               {"hevc161.mp4", 0.5, {}},
               {"opengop264.mp4", 25, {{3, 1}, {7, 2}}},
               {"og264.ts", 25, {{3, 1}, {7, 2}}},
               {"og265.ts", 25, {{3, 1}, {7, 2}}},
               {"d265.mp4", 25, {{3, 1}, {7, 2}}},
               {"d265.mkv", 25, {{3, 1}, {7, 2}}},
               {"elst_long.mp4", 1, {{4, 1}, {7, 1}}},
               {"x264.flv", 25, {{3, 1}, {7, 2}}},
               {"vp9.webm", 25, {{3, 1}, {7, 2}}},
               {"mp2.ts", 25, {{2, 1}, {5, 2}}},
               {"fragments.mp4", 25, {{3, 1}, {7, 2}}},
               {"mjpeg.mov", 1, {}},
               {"av1.mp4", 25, {{3, 2}, {2, 1}}},
               {"nodur.webm", 25, {{3, 2}, {2, 1}}}};
  for (const auto& [name, fps, window] : cases) {
    const DecodedClip decoded = decode(name, fps, {window});
    EXPECT_EQ(decoded.refused, "") << name;
    EXPECT_GT(decoded.facts.jumps, 0) << name;
    EXPECT_LT(decoded.facts.decoded, decoded.facts.presented) << name;
  }
  for (const char* name : {"opengop.mpg", "m4b.avi", "full.avi", "refresh.ts", "altref.webm"}) {
    const DecodedClip decoded = decode(name, 25, {{{3, 2}, {2, 1}}});
    EXPECT_EQ(decoded.facts.jumps, 0) << name << " must be decoded from its start";
  }
}

TEST(Trap, PlaysAnimatedPictures) {
  for (const char* name : {"anim_vdelay.gif", "anim.png", "anim.webp"}) {
    const DecodedClip decoded = decode(name, 10);
    EXPECT_EQ(decoded.refused, "") << name;
    EXPECT_EQ(decoded.facts.presented, 10) << name;
    EXPECT_NEAR(decoded.facts.last_seconds, 1.7, 0.0005) << name;
    std::vector<int64_t> each = numbers(5);
    for (int64_t i = 5; i < 9; ++i) each.insert(each.end(), 3, i);
    each.push_back(9);
    std::vector<int64_t> found = shown(decoded);
    ASSERT_GE(found.size(), each.size()) << name;
    found.resize(each.size());  // what the last frame's delay is depends on the format
    EXPECT_EQ(found, each) << name;
  }
  EXPECT_EQ(decode("anim_vdelay.gif", 10).clip.num_frames, 21);
  const DecodedClip png = decode("anim.png", 10), webp = decode("anim.webp", 10);
  const size_t same = size_t(64 * 64 * 3 * 18);
  EXPECT_TRUE(std::equal(png.clip.pixels.begin(), png.clip.pixels.begin() + same, webp.clip.pixels.begin()))
      << "both are lossless copies of the same pictures";
}

TEST(Trap, TellsCoverArtFromVideo) {
  expect_text(decode("cover.mp3", 8).refused, "only an attached picture (cover art), no video");
  expect_text(decode("audio_only.mp4", 8).refused, "no video stream");
  const DecodedClip both = decode("video_plus_cover.mp4", 25);
  EXPECT_EQ(both.facts.codec, "h264");
  EXPECT_EQ(shown(both), numbers(30));
}

}  // namespace
}  // namespace zoetrope
