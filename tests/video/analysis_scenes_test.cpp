// Scene cuts to the frame, on clips whose cuts are known because ffmpeg joined them there.
#include <gtest/gtest.h>

#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/analysis/scenes.h"

namespace zoetrope {
namespace {

using testing_support::run_ffmpeg;
using testing_support::TemporaryFolder;

constexpr SceneDetector kDetectors[] = {SceneDetector::kContent, SceneDetector::kAdaptive};
constexpr const char* kX264 = " -c:v libx264 -preset veryfast -pix_fmt yuv420p ";
/// A second input differs from the first in every pixel, so that joins are cuts.
constexpr const char* kInputs =
    "-f lavfi -i testsrc2=s=320x240:r=25:d=4 -f lavfi -i mandelbrot=s=320x240:r=25 "
    "-f lavfi -i smptebars=s=320x240:r=25:d=2 -filter_complex ";

std::vector<int64_t> frames_of(const FileScenes& scenes) {
  std::vector<int64_t> frames;
  for (const SceneCut& cut : scenes.cuts) frames.push_back(cut.frame);
  return frames;
}

class Scenes : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  /// testsrc2, mandelbrot and smptebars of 2 s each: cuts at 50 and 100.
  std::string make_cuts() const {
    run_ffmpeg(std::string(kInputs) + "[0]trim=end_frame=50[a];[1]trim=end_frame=50[b];[a][b][2]concat=n=3" +
               kX264 + path("cuts.mp4"));
    return path("cuts.mp4");
  }
  void expect_cuts(const std::string& file, const std::vector<int64_t>& expected) const {
    for (const SceneDetector detector : kDetectors)
      EXPECT_EQ(frames_of(find_scenes(file, detector)), expected) << file << " " << name_of(detector);
  }
  TemporaryFolder folder_;
};

TEST_F(Scenes, AreFoundToTheFrame) {
  const std::string file = make_cuts();
  expect_cuts(file, {50, 100});
  const FileScenes scenes = find_scenes(file, SceneDetector::kAdaptive);
  EXPECT_EQ(scenes.num_frames, 150);
  EXPECT_TRUE(scenes.cuts[0].time == (Ratio{2, 1}));
  EXPECT_TRUE(scenes.cuts[1].time == (Ratio{4, 1}));
}

TEST_F(Scenes, AreTheSameInOtherSizesAndFormats) {
  const std::string file = make_cuts();
  run_ffmpeg("-i " + file + " -vf scale=96:54 -pix_fmt yuv444p10le -c:v ffv1 " + path("deep.mkv"));
  run_ffmpeg("-i " + file + " -vf scale=854:480 -c:v libx264 -crf 35 -preset ultrafast " + path("big.mp4"));
  run_ffmpeg("-i " + file + " -pix_fmt bgr0 -c:v ffv1 " + path("rgb.mkv"));
  for (const char* name : {"deep.mkv", "big.mp4", "rgb.mkv"}) expect_cuts(path(name), {50, 100});
}

TEST_F(Scenes, AFlashIsNoCut) {
  for (const int last : {50, 52}) {
    run_ffmpeg(
        "-f lavfi -i testsrc2=s=320x240:r=25:d=4 -vf drawbox=t=fill:color=white:enable=between(n\\,50\\," +
        std::to_string(last) + ")" + kX264 + path("flash.mp4"));
    expect_cuts(path("flash.mp4"), {});
  }
  // Four frames of white are a picture of their own; the way back is too near to be a second cut.
  run_ffmpeg(std::string("-f lavfi -i testsrc2=s=320x240:r=25:d=4 -vf "
                         "drawbox=t=fill:color=white:enable=between(n\\,50\\,53)") +
             kX264 + path("white.mp4"));
  EXPECT_EQ(frames_of(find_scenes(path("white.mp4"), SceneDetector::kContent)), (std::vector<int64_t>{50}));
}

TEST_F(Scenes, ACutBesideAFlashIsFound) {
  run_ffmpeg(std::string(kInputs) +
             "[0]trim=end_frame=50,drawbox=t=fill:color=white:enable=eq(n\\,20)[a];[1]trim=end_frame=50[b];"
             "[a][b]concat;[2]nullsink" +
             kX264 + path("both.mp4"));
  expect_cuts(path("both.mp4"), {50});
}

TEST_F(Scenes, ACrossFadeIsNoHardCut) {
  run_ffmpeg(std::string(kInputs) +
             "[0]format=yuv420p[a];[1]trim=end_frame=100,format=yuv420p,setsar=1[b];"
             "[a][b]xfade=duration=2:offset=2;[2]nullsink" +
             kX264 + path("fade.mp4"));
  expect_cuts(path("fade.mp4"), {});
}

TEST_F(Scenes, AForeignFirstFrameIsCutOff) {
  run_ffmpeg(std::string(kInputs) +
             "[0]trim=end_frame=1[a];[1]trim=end_frame=60[b];[a][b]concat;[2]nullsink" + kX264 +
             path("first.mp4"));
  expect_cuts(path("first.mp4"), {1});
}

TEST_F(Scenes, OfVariableRateAreCutAtTheRightTimes) {
  run_ffmpeg("-i " + make_cuts() + " -vf select=lt(n\\,30)+not(mod(n\\,3)) -fps_mode vfr" + kX264 +
             path("vfr.mp4"));
  // Frames 0 to 29, then 30, 33, ...: the first after 50 is 51, number 37; after 100 it is 102, number 54.
  expect_cuts(path("vfr.mp4"), {37, 54});
  const FileScenes scenes = find_scenes(path("vfr.mp4"), SceneDetector::kContent);
  EXPECT_TRUE(scenes.cuts[0].time == (Ratio{51, 25}));
  EXPECT_TRUE(scenes.cuts[1].time == (Ratio{102, 25}));
  // At any rate, no clip shows a frame of another scene.
  for (const double fps : {3.0, 8.0, 24.0, 25.0, 30000.0 / 1001}) {
    DecodeRules rules;
    rules.fps = fps;
    const std::vector<DecodedClip> clips = decode_file(path("vfr.mp4"), rules, windows_of(scenes, 10));
    ASSERT_EQ(clips.size(), 3u);
    const int64_t bounds[] = {0, 37, 54, scenes.num_frames};
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(clips[i].refused, "");
      EXPECT_EQ(clips[i].clip.sources.front().source_index, bounds[i]) << fps;
      for (const FrameSource& source : clips[i].clip.sources)
        EXPECT_TRUE(source.source_index >= bounds[i] && source.source_index < bounds[i + 1])
            << source.source_index << " in scene " << i << " at " << fps;
    }
  }
}

TEST(SceneWindows, CutLongScenesIntoEqualParts) {
  const FileScenes scenes{150, {149, 25}, {{50, {50, 25}, 80}, {60, {60, 25}, 70}}};  // 2 s, 0.4 s, 3.6 s
  const std::vector<Window> windows = windows_of(scenes, 1.5);
  const Ratio expected[][2] = {{{0, 1}, {1, 1}},   {{1, 1}, {2, 1}},   {{2, 1}, {12, 5}},
                               {{12, 5}, {18, 5}}, {{18, 5}, {24, 5}}, {{24, 5}, Window{}.end}};
  ASSERT_EQ(windows.size(), 6u);
  for (size_t i = 0; i < windows.size(); ++i) {
    EXPECT_TRUE(windows[i].start == expected[i][0]) << i << ": " << windows[i].start.value();
    EXPECT_TRUE(windows[i].end == expected[i][1]) << i << ": " << windows[i].end.value();
  }
  EXPECT_EQ(windows_of(scenes, 10).size(), 3u);
  EXPECT_EQ(windows_of(FileScenes{}, 10).size(), 1u) << "a file that can't be decoded is one clip";
}

TEST(SceneDetectors, FollowTheirDefinitions) {
  std::vector<Ratio> times;
  for (int64_t k = 0; k < 60; ++k) times.push_back({k, 25});
  const auto cuts = [&](const std::vector<ContentChange>& changes, SceneDetector detector) {
    std::vector<int64_t> frames;
    for (const SceneCut& cut : find_cuts(changes, times, detector)) frames.push_back(cut.frame);
    return frames;
  };
  std::vector<ContentChange> changes(60, ContentChange{2, 0});
  changes[20].score = 27;
  changes[34].score = 90;  // 0.56 s after the last cut
  changes[50].score = 26.9;
  EXPECT_EQ(cuts(changes, SceneDetector::kContent), (std::vector<int64_t>{20}));
  changes[35].score = 90;  // 0.6 s
  EXPECT_EQ(cuts(changes, SceneDetector::kContent), (std::vector<int64_t>{20, 35}));
  // A change among changes of its own size is none for the adaptive detector; a lone one of 15 is.
  changes.assign(60, ContentChange{12, 0});
  changes[20].score = 35.9;
  changes[40].score = 36;
  EXPECT_EQ(cuts(changes, SceneDetector::kAdaptive), (std::vector<int64_t>{40}));
  changes.assign(60, ContentChange{0, 0});
  changes[10].score = 14.9;
  changes[30].score = 15;
  EXPECT_EQ(cuts(changes, SceneDetector::kAdaptive), (std::vector<int64_t>{30}));
  EXPECT_THROW(scene_detector_of("fast"), UsageError);
}

}  // namespace
}  // namespace zoetrope
