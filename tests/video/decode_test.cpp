// Frames of awkward files against the ffmpeg command's own linear decode: each output frame must be, bit for
// bit, the picture shown at its time.
#include <gtest/gtest.h>
#include <filesystem>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/media/decode.h"

namespace zoetrope {
namespace {

using testing_support::decode_with_ffmpeg;
using testing_support::OracleFrames;
using testing_support::run_ffmpeg;
using testing_support::TemporaryFolder;

class Decode : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void make(const std::string& words, const std::string& name) const { run_ffmpeg(words + " " + path(name)); }
  void make_source(const std::string& source, const std::string& coding, const std::string& name) const {
    make("-f lavfi -i " + source + " " + coding, name);
  }

  /// At native size, so that pixels can be compared.
  DecodedClip decode(const std::string& name, double fps) const {
    DecodeRules rules;
    rules.fps = fps;
    rules.size = {{1, 1, 1}, 1 << 24, false};
    return decode_file(path(name), rules).at(0);
  }

  /// Compares every output frame with the oracle, for a sparse, an uneven and a dense rate.
  void expect_exact(const std::string& name, int64_t width, int64_t height, int64_t presented, double seconds,
                    const std::vector<double>& rates = {3, 8, 23.976, 50}) const {
    const OracleFrames oracle = decode_with_ffmpeg(path(name), width, height);
    ASSERT_EQ(int64_t(oracle.seconds.size()), presented) << name;
    for (double fps : rates) {
      const DecodedClip decoded = decode(name, fps);
      ASSERT_EQ(decoded.refused, "") << name;
      EXPECT_EQ(decoded.facts.presented, presented) << name;
      EXPECT_FALSE(decoded.found_damage) << name << ": " << (decoded.cuts.empty() ? "" : decoded.cuts[0]);
      const Clip& clip = decoded.clip;
      ASSERT_EQ(clip.width, width) << name;
      ASSERT_EQ(clip.height, height) << name;
      EXPECT_NEAR(double(clip.num_frames), seconds * fps, 1.0 - 1e-6) << name << " at " << fps;
      for (int64_t k = 0; k < clip.num_frames; ++k) {
        const int64_t expected = oracle.shown_at(oracle.seconds[0] + double(k) / ratio_of(fps));
        const FrameSource& source = clip.sources[size_t(k)];
        ASSERT_EQ(source.source_index, expected) << name << " at " << fps << ", output frame " << k;
        ASSERT_NEAR(source.source_seconds, oracle.seconds[size_t(expected)], 2e-6);
        const std::string& picture = oracle.rgb[size_t(expected)];
        ASSERT_TRUE(std::equal(picture.begin(), picture.end(), reinterpret_cast<const char*>(clip.frame(k))))
            << name << " at " << fps << ", output frame " << k;
      }
    }
  }

 private:
  static double ratio_of(double fps) { return fps == 23.976 ? 2997.0 / 125 : fps; }
  TemporaryFolder folder_;
};

TEST_F(Decode, CountsFramesOfAPlainFile) {
  make_source("testsrc2=s=64x64:r=16", "-frames:v 49 -c:v libx264", "t01.mp4");
  EXPECT_EQ(decode("t01.mp4", 16).clip.num_frames, 49);
  expect_exact("t01.mp4", 64, 64, 49, 49.0 / 16);
}

TEST_F(Decode, FollowsAVariableRate) {
  make_source("testsrc2=s=160x120:r=30:d=3",
              "-vf select='lt(n,30)+not(mod(n,3))' -fps_mode vfr -c:v libx264 -bf 2", "vfr.mp4");
  make("-i " + path("vfr.mp4") + " -c copy", "vfr.mkv");
  // The last frame has the duration that the container gives it: 1/30 s, or the average in Matroska.
  expect_exact("vfr.mp4", 160, 120, 50, 2.9 + 1.0 / 30);
  expect_exact("vfr.mkv", 160, 120, 50, 2.9 + 0.056);
}

TEST_F(Decode, StartsAtTheFirstPresentedFrame) {
  make_source("testsrc2=s=96x64:r=25:d=1", "-output_ts_offset 10 -c:v libx264", "late.mp4");
  make_source("testsrc2=s=96x64:r=25:d=1", "-c:v libx264", "late.ts");
  expect_exact("late.mp4", 96, 64, 25, 1.0);
  expect_exact("late.ts", 96, 64, 25, 1.0);
  EXPECT_NEAR(decode("late.mp4", 8).clip.sources[0].source_seconds, 10, 1e-6);
}

TEST_F(Decode, HonoursEditLists) {
  make_source("testsrc2=duration=1.2:size=64x64:rate=25",
              "-c:v libx264 -pix_fmt yuv420p -g 10 -keyint_min 10 -sc_threshold 0", "src.mp4");
  make("-ss 0.2 -i " + path("src.mp4") + " -c copy", "elst.mp4");
  expect_exact("elst.mp4", 64, 64, 25, 1.0);
  EXPECT_EQ(decode("elst.mp4", 8).facts.packets, 30);
}

TEST_F(Decode, NeedsNoDuration) {
  make_source("testsrc2=s=96x64:r=25:d=2", "-c:v libvpx -live 1 -f webm", "live.webm");
  expect_exact("live.webm", 96, 64, 50, 2.0);
}

TEST_F(Decode, KeepsReorderedAndOpenGroups) {
  make_source("testsrc2=s=64x64:r=10:d=4.1", "-c:v libx265 -x265-params keyint=3:crf=0:log-level=none",
              "hevc.mp4");
  make_source("testsrc2=s=96x64:r=25:d=2",
              "-c:v libx264 -x264-params open-gop=1:keyint=25:min-keyint=25:bframes=3:scenecut=0",
              "open.mp4");
  make_source("testsrc2=s=96x64:r=25:d=2", "-c:v mpeg2video -bf 2 -g 12 -q:v 4", "open.mpg");
  expect_exact("hevc.mp4", 64, 64, 41, 4.1);
  expect_exact("open.mp4", 96, 64, 50, 2.0);
  expect_exact("open.mpg", 96, 64, 50, 2.0);
}

TEST_F(Decode, OrdersFramesOfAvi) {
  // AVI holds no presentation times: ffmpeg's own are not in order there, so the frame's number is the
  // oracle.
  make_source("testsrc2=s=96x64:r=25:d=2", "-c:v mpeg4 -bf 2 -g 25 -q:v 2", "b.avi");
  const OracleFrames oracle = decode_with_ffmpeg(path("b.avi"), 96, 64);
  const DecodedClip decoded = decode("b.avi", 25);
  ASSERT_EQ(decoded.clip.num_frames, 50);
  for (int64_t k = 0; k < 50; ++k) {
    EXPECT_EQ(decoded.clip.sources[size_t(k)].source_index, k);
    EXPECT_TRUE(std::equal(oracle.rgb[size_t(k)].begin(), oracle.rgb[size_t(k)].end(),
                           reinterpret_cast<const char*>(decoded.clip.frame(k))))
        << k;
  }
}

TEST_F(Decode, PlaysGifDelays) {
  // GIF's own time base and last delay, since FFmpeg 5 and 7 derive different ones
  make_source("testsrc2=s=64x64:r=10:d=1",
              "-vf settb=1/100,setpts='if(lt(N,5),N*10,50+(N-5)*30)' -fps_mode passthrough -final_delay 40",
              "anim.gif");
  expect_exact("anim.gif", 64, 64, 10, 2.1);
}

TEST_F(Decode, SkipsCoverArt) {
  make_source("testsrc2=s=96x64:r=25", "-frames:v 1", "cover.png");
  make_source("testsrc2=s=64x64:r=25:d=1", "-c:v libx264", "src.mp4");
  make("-i " + path("src.mp4") + " -i " + path("cover.png") +
           " -map 0:v -map 1 -c copy -disposition:v:1 attached_pic",
       "both.mp4");
  make("-f lavfi -i sine=d=1 -i " + path("cover.png") +
           " -map 0 -map 1 -c:a aac -c:v copy -disposition:v:0 attached_pic",
       "song.mp4");
  make("-f lavfi -i sine=d=1 -c:a aac", "audio.mp4");
  EXPECT_EQ(decode("both.mp4", 25).facts.presented, 25);
  EXPECT_NE(decode("song.mp4", 8).refused.find("only an attached picture"), std::string::npos)
      << decode("song.mp4", 8).refused;
  EXPECT_NE(decode("audio.mp4", 8).refused.find("no video stream"), std::string::npos);
}

TEST_F(Decode, MakesOneFrameOfAPicture) {
  for (const char* name : {"pic.png", "pic.jpg", "pic.bmp", "frame%03d.png"}) {
    make_source("testsrc2=s=96x64", "-frames:v 1 -update 1", name);
    const DecodedClip decoded = decode(name, 60);
    EXPECT_EQ(decoded.refused, "") << name;
    EXPECT_EQ(decoded.clip.num_frames, 1) << name;
  }
  const OracleFrames oracle = decode_with_ffmpeg(path("pic.png"), 96, 64);
  const DecodedClip decoded = decode("pic.png", 8);
  EXPECT_TRUE(std::equal(oracle.rgb[0].begin(), oracle.rgb[0].end(),
                         reinterpret_cast<const char*>(decoded.clip.frame(0))));
}

TEST_F(Decode, ReportsTruncatedAndCorruptFiles) {
  const std::string coding = "-c:v libx264 -g 25", source = "testsrc2=s=160x120:r=25:d=4";
  make_source(source, coding + " -movflags +faststart", "full.mp4");
  make_source(source, coding, "end.mp4");
  make("-i " + path("full.mp4") + " -c copy", "full.mkv");
  for (const char* name : {"full.mp4", "end.mp4", "full.mkv"})
    std::filesystem::resize_file(path(name), std::filesystem::file_size(path(name)) / 2);
  const DecodedClip front = decode("full.mp4", 25);
  EXPECT_EQ(front.refused, "");
  EXPECT_TRUE(front.found_damage);
  EXPECT_EQ(front.facts.declared, 100);
  EXPECT_LT(front.facts.packets, 100);
  EXPECT_GT(front.clip.num_frames, 20);
  EXPECT_LE(front.clip.num_frames, front.facts.packets);
  EXPECT_NE(decode("end.mp4", 8).refused.find("moov atom not found"), std::string::npos)
      << decode("end.mp4", 8).refused;
  const DecodedClip mkv = decode("full.mkv", 25);
  EXPECT_EQ(mkv.refused, "");
  EXPECT_TRUE(mkv.found_damage);
}

TEST_F(Decode, KeepsSoundFramesAloneOfACorruptFile) {
  make_source("testsrc2=s=160x120:r=25:d=6", "-c:v libx264 -g 25 -bf 2", "sound.mp4");
  const OracleFrames oracle = decode_with_ffmpeg(path("sound.mp4"), 160, 120);
  std::string bytes = read_file(path("sound.mp4"));
  // The middle of the file, inside some packets of its second quarter; index and later groups stay whole.
  for (size_t at = bytes.size() * 30 / 100; at < bytes.size() * 31 / 100; ++at)
    bytes[at] = char(bytes[at] ^ 0x5a);
  testing_support::write_text(path("corrupt.mp4"), bytes);
  const DecodedClip decoded = decode("corrupt.mp4", 25);
  ASSERT_EQ(decoded.refused, "");
  EXPECT_TRUE(decoded.found_damage);
  EXPECT_GT(decoded.facts.damaged, 0);
  EXPECT_GT(decoded.clip.num_frames, 50) << "the longest run is after the damage";
  for (int64_t k = 0; k < decoded.clip.num_frames; ++k) {
    const int64_t expected = oracle.shown_at(decoded.clip.sources[size_t(k)].source_seconds);
    ASSERT_TRUE(std::equal(oracle.rgb[size_t(expected)].begin(), oracle.rgb[size_t(expected)].end(),
                           reinterpret_cast<const char*>(decoded.clip.frame(k))))
        << "output frame " << k;
  }
  EXPECT_TRUE(decode("corrupt.mp4", 25).clip.pixels == decoded.clip.pixels) << "the same file twice";
}

TEST_F(Decode, GivesEachHopelessFileItsReason) {
  testing_support::write_text(path("empty.mp4"), "");
  testing_support::write_text(path("text.mp4"), "this is a text file\n");
  testing_support::write_text(path("noise.mp4"),
                              std::string("\x01\x02\x00\xff\x80", 5) + std::string(3000, '\x9c'));
  testing_support::write_text(path("list.mp4"), "ffconcat version 1.0\nfile /etc/hostname\n");
  std::filesystem::create_directory(path("folder.mp4"));
  std::filesystem::create_symlink("nowhere.mp4", path("dangling.mp4"));
  const std::pair<const char*, const char*> expected[] = {
      {"empty.mp4", "empty file"},   {"text.mp4", "is text"},    {"noise.mp4", "no video or picture"},
      {"list.mp4", "not read"},      {"folder.mp4", "a folder"}, {"dangling.mp4", "symbolic link"},
      {"absent.mp4", "No such file"}};
  for (const auto& [name, reason] : expected)
    EXPECT_NE(decode(name, 8).refused.find(reason), std::string::npos)
        << name << ": " << decode(name, 8).refused;
}

TEST_F(Decode, CutsWindowsAndLength) {
  make_source("testsrc2=s=64x64:r=25:d=4", "-c:v libx264", "long.mp4");
  DecodeRules rules;
  rules.fps = 5;
  rules.size = {{1, 1, 1}, 1 << 24, false};
  rules.max_seconds = 1.5;
  const auto parts = decode_file(path("long.mp4"), rules,
                                 {{{1, 2}, {11, 10}}, {{2, 1}, {39, 10}}, {{7, 2}}, {{9, 1}, {10, 1}}});
  ASSERT_EQ(parts.size(), 4u);
  const std::vector<std::vector<int64_t>> expected = {
      {12, 17, 22}, {50, 55, 60, 65, 70, 75, 80, 85}, {87, 92, 97}, {}};
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<int64_t> shown;
    for (const FrameSource& source : parts[i].clip.sources) shown.push_back(source.source_index);
    EXPECT_EQ(shown, expected[i]) << "window " << i;
  }
  EXPECT_FALSE(parts[1].cuts.empty());
  EXPECT_NE(parts[3].refused.find("nothing to show"), std::string::npos) << parts[3].refused;
}

TEST_F(Decode, RefusesAClipThatNeedsTooMuchMemory) {
  make_source("testsrc2=s=64x64:r=25:d=2", "-c:v libx264", "big.mp4");
  DecodeRules rules;
  rules.fps = 25;
  rules.max_clip_bytes = 100000;
  EXPECT_NE(decode_file(path("big.mp4"), rules).at(0).refused.find("--max-seconds"), std::string::npos);
  rules.max_seconds = 1e300;
  rules.max_clip_bytes = 1 << 30;
  EXPECT_EQ(decode_file(path("big.mp4"), rules).at(0).clip.num_frames, 50);
}

}  // namespace
}  // namespace zoetrope
