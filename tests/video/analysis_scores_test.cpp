// Scores of clips whose content is known: still, black, blurred, letterboxed, of two fields, in any format.
#include <gtest/gtest.h>
#include <cmath>

#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/analysis/clip_filters.h"
#include "video/analysis/frame_analyzer.h"
#include "video/media/decode.h"

namespace zoetrope {
namespace {

using testing_support::run_ffmpeg;
using testing_support::TemporaryFolder;

class Scores : public testing::Test {
 protected:
  /// Makes a clip of one second from a lavfi source and filters, and scores all of its frames.
  ClipScores score(const std::string& source, const std::string& filters = "null",
                   const std::string& codec = "-c:v ffv1 -pix_fmt yuv420p") {
    const std::string path = folder_.path() + "/clip" + std::to_string(count_++) + ".mkv";
    run_ffmpeg("-f lavfi -i " + source + " -vf " + filters + " -t 1 " + codec + " " + path);
    FrameAnalyzer analyzer;
    const auto clips = decode_file(
        path, DecodeRules{}, {},
        [&](const AVFrame& frame, const PresentedFrame& place) { analyzer.observe(frame, place); });
    EXPECT_EQ(clips[0].refused, "");
    EXPECT_EQ(int64_t(analyzer.records().size()), clips[0].facts.presented);
    return scores_of(analyzer.records(), 0, clips[0].facts.presented - 1);
  }
  TemporaryFolder folder_;
  int count_ = 0;
};

constexpr const char* kMoving = "testsrc2=s=320x240:r=25";
constexpr const char* kStill = "smptebars=s=320x240:r=25";

TEST_F(Scores, OfMotionDontDependOnRateOrSize) {
  const ClipScores still = score(kStill), moving = score(kMoving);
  EXPECT_EQ(still.motion, 0);
  EXPECT_EQ(still.frozen, 1);
  EXPECT_EQ(moving.frozen, 0);
  EXPECT_GT(moving.motion, 10);
  // testsrc2 moves by pictures, not by seconds: half the frames in the same time is half the motion.
  const ClipScores sparse = score(kMoving, "fps=12.5"), large = score(kMoving, "scale=1280:960");
  EXPECT_NEAR(sparse.motion, moving.motion, moving.motion / 2);
  EXPECT_NEAR(large.motion, moving.motion, moving.motion / 10);
  const ClipScores half = score(kMoving, "trim=end_frame=13,tpad=stop_mode=clone:stop=12");
  EXPECT_EQ(half.frozen, 0.5) << "24 steps, of which the last 12 are frozen";
}

TEST_F(Scores, TellBlackFromDark) {
  const ClipScores black = score("color=black:s=320x240:r=25"), moving = score(kMoving);
  EXPECT_EQ(black.black, 1);
  EXPECT_EQ(black.brightness, 0);
  EXPECT_EQ(black.contrast, 0);
  EXPECT_EQ(black.letterbox, 0) << "a black picture has no bars";
  EXPECT_EQ(moving.black, 0);
  const ClipScores faded = score(kMoving, "fade=out:0:25");
  EXPECT_GT(faded.black, 0);
  EXPECT_LT(faded.black, 0.3);
  EXPECT_LT(faded.brightness, moving.brightness);
}

TEST_F(Scores, AreTheSameForTheSamePictureInOtherFormats) {
  const ClipScores reference = score(kMoving);
  for (const char* codec : {"-c:v ffv1 -pix_fmt yuv420p10le", "-c:v ffv1 -pix_fmt yuv444p16le",
                            "-c:v ffv1 -pix_fmt bgr0", "-c:v rawvideo -pix_fmt uyvy422",
                            "-c:v ffv1 -pix_fmt gray", "-c:v ffv1 -pix_fmt yuv420p -color_range pc"}) {
    // Full range keeps the picture: the filter converts it.
    const bool full = std::string(codec).ends_with("pc");
    const ClipScores other = score(kMoving, full ? "scale=out_range=pc" : "null", codec);
    EXPECT_NEAR(other.brightness, reference.brightness, 2) << codec;
    EXPECT_NEAR(other.contrast, reference.contrast, 2) << codec;
    EXPECT_NEAR(other.motion, reference.motion, reference.motion / 10) << codec;
    EXPECT_NEAR(other.sharpness, reference.sharpness, reference.sharpness / 5) << codec;
  }
}

TEST_F(Scores, OfSharpnessFallWithBlurAndHardlyWithSize) {
  const ClipScores sharp = score(kMoving), soft = score(kMoving, "boxblur=2"),
                   blurred = score(kMoving, "boxblur=10");
  EXPECT_LT(soft.sharpness, sharp.sharpness / 2);
  EXPECT_LT(blurred.sharpness, soft.sharpness / 2);
  const ClipScores larger = score("testsrc2=s=640x480:r=25", "null");
  EXPECT_LT(score("testsrc2=s=640x480:r=25", "boxblur=20").sharpness, larger.sharpness / 4);
}

TEST_F(Scores, FindTheBarsToThePixel) {
  const ClipScores letterbox = score(kMoving, "pad=320:320:0:40"),
                   pillarbox = score(kMoving, "pad=480:240:100:0");
  EXPECT_EQ(letterbox.letterbox, 0.25);
  EXPECT_EQ(letterbox.bars, (std::array<int64_t, 4>{0, 40, 0, 40}));
  EXPECT_EQ(pillarbox.letterbox, std::round(1e4 / 3) / 1e4);
  EXPECT_EQ(pillarbox.bars, (std::array<int64_t, 4>{100, 0, 60, 0}));
  EXPECT_EQ(score(kMoving).letterbox, 0);
}

TEST_F(Scores, SeeLinesOfTwoFieldsAndTheirRemoval) {
  const std::string woven = "tinterlace=interleave_top,fieldorder=tff";
  const std::string source = "testsrc2=s=720x576:r=50";
  const ClipScores interlaced = score(source, woven), whole = score(source, "fps=25");
  const ClipScores repaired = score(source, woven + ",bwdif=0");
  EXPECT_GT(interlaced.combed, 2 * whole.combed);
  EXPECT_LT(repaired.combed, interlaced.combed / 2);
}

TEST(Filters, RefuseByScoreAndSayIt) {
  ClipScores scores;
  scores.motion = 1.5;
  scores.black = 0.9;
  ClipFilters filters;
  EXPECT_EQ(filter_reason(filters, scores, 0.1), "");
  EXPECT_EQ(filters_text(filters), "{}");
  filters.min_motion = 1.5;
  filters.drop_blurred = 100;
  EXPECT_EQ(filter_reason(filters, scores, 0.1), "") << "a score that is unknown refuses nothing";
  filters.min_motion = 2;
  EXPECT_EQ(filter_reason(filters, scores, 0.1),
            "too little motion: levels per second 1.5 is less than --min-motion 2");
  filters.drop_black = 0.9;
  EXPECT_EQ(filter_reason(filters, scores, 0.1), "black: share of black frames 0.9 reaches --drop-black 0.9");
  EXPECT_EQ(filters_text(filters), R"({"drop-black":0.9,"min-motion":2.0,"drop-blurred":100.0})");
  filters = {};
  filters.min_seconds = 0.6;
  EXPECT_EQ(filter_reason(filters, scores, 0.04), "too short: seconds 0.04 is less than --min-seconds 0.6");
  EXPECT_EQ(filter_reason(filters, scores, ClipScores::kUnknown), "") << "a picture";
  filters.drop_letterbox = 1.5;
  EXPECT_THROW(check_filters(filters), UsageError);
}

}  // namespace
}  // namespace zoetrope
