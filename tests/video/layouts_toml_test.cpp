// Data-set TOMLs of diffusion-pipe and musubi-tuner: what becomes of each key.
#include <gtest/gtest.h>

#include "core/check.h"
#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/sources/frame_extraction.h"
#include "video/sources/ingest_plan.h"

namespace zoetrope {
namespace {

using testing_support::run_ffmpeg;
using testing_support::TemporaryFolder;
using testing_support::write_text;
using Names = std::vector<std::string>;

/// "0+13 13+13" for a video of so many frames.
std::string spans(const FrameExtraction& extraction, int64_t frames) {
  std::string out;
  for (const FrameSpan& span : spans_of(extraction, frames))
    out += (out.empty() ? "" : " ") + std::to_string(span.first) + "+" + std::to_string(span.count);
  return out;
}

/// The pictures of musubi-tuner's documentation: a video of 40 frames.
TEST(FrameExtraction, IsThatOfTheDocumentation) {
  EXPECT_EQ(spans({"head", {1, 13, 25}}, 40), "0+1 0+13 0+25");
  EXPECT_EQ(spans({"chunk", {13, 25}}, 40), "0+13 13+13 26+13 0+25");
  EXPECT_EQ(spans({"slide", {1, 13, 25}, 10}, 40), "0+1 10+1 20+1 30+1 0+13 10+13 20+13 0+25 10+25");
  EXPECT_EQ(spans({"uniform", {1, 13, 25}, 1, 4}, 40),
            "0+1 13+1 26+1 39+1 0+13 9+13 18+13 27+13 0+25 5+25 10+25 15+25");
  EXPECT_EQ(spans({"full", {1}, 1, 1, 31}, 20), "0+17");
  EXPECT_EQ(spans({"full", {1}, 1, 1, 31}, 25), "0+25");
  // The documentation says 31 for 35 frames; the code, and 4 n + 1, give 29.
  EXPECT_EQ(spans({"full", {1}, 1, 1, 31}, 35), "0+29");
}

TEST(FrameExtraction, RoundsTargetsDownAndKeepsWhatFits) {
  EXPECT_EQ(rounded_targets({16, 13, 4, 15}), (std::vector<int64_t>{1, 13}));
  EXPECT_EQ(spans({"head", {13, 25}}, 20), "0+13");
  EXPECT_EQ(spans({"head", {13}}, 12), "");
  EXPECT_EQ(spans({"uniform", {13}, 1, 1}, 40), "0+13");
  EXPECT_EQ(spans({"uniform", {13}, 1, 5}, 14), "0+13 1+13");
}

class Toml : public testing::Test {
 protected:
  void SetUp() override {
    put("clips/a.mp4");
    put("clips/a.txt", "A");
    put("clips/b.mp4");
    put("clips/deep/c.mp4");
    put("clips/deep/c.txt", "C");
  }
  void put(const std::string& name, const std::string& text = "x") const {
    write_text(folder_.path() + "/" + name, text);
  }
  IngestPlan plan(const std::string& toml) const {
    put("data.toml", toml);
    return plan_ingest(folder_.path() + "/data.toml", options_);
  }
  Names planned(const std::string& toml) const {
    Names out;
    for (const PlannedSource& file : plan(toml).sources)
      for (const PlannedClip& clip : file.clips)
        out.push_back(clip.refused.empty()
                          ? clip.name + "=" + clip.caption
                          : clip.name + (clip.skipped ? "?" : "!") + clip.refused.substr(0, 10));
    return out;
  }
  std::string message(const std::string& toml) const {
    try {
      plan(toml);
    } catch (const Error& error) { return error.what(); }
    return "";
  }
  void expect_refused(const std::string& toml, const Names& parts) const {
    const std::string found = message(toml);
    for (const std::string& part : parts)
      EXPECT_NE(found.find(part), std::string::npos) << part << " in: " << found;
  }
  TemporaryFolder folder_;
  IngestPlanOptions options_;
};

TEST_F(Toml, OfDiffusionPipeReadsItsFolders) {
  const IngestPlan found = plan(
      "resolutions = [512, [832, 480]]\nenable_ar_bucket = true\nmin_ar = 0.5\nnum_ar_buckets = 7\n"
      "frame_buckets = [1, 33, 65]\ncaption_prefix = 'film, '\n[[directory]]\npath = 'clips'\nnum_repeats = "
      "3\n");
  ASSERT_EQ(found.sources.size(), 4u) << "two files at two areas";
  EXPECT_EQ(found.sources[0].clips[0].name, "a.mp4@512");
  EXPECT_EQ(found.sources[0].rules.area, 512 * 512);
  EXPECT_EQ(found.sources[1].clips[0].name, "a.mp4@832x480");
  EXPECT_EQ(found.sources[1].rules.area, 832 * 480);
  EXPECT_EQ(found.sources[1].rules.most_frames, 65);
  EXPECT_EQ(found.sources[1].clips[0].caption, "film, A");
  EXPECT_EQ(found.sources[1].clips[0].repeats, 3);
  EXPECT_TRUE(found.sources[2].clips[0].skipped) << "no caption file";
  EXPECT_EQ(found.ignored_files, 1) << "a file in a folder below";
  std::string notes;
  for (const std::string& note : found.notes) notes += note + "\n";
  for (const char* part : {"key 'enable_ar_bucket' = true: not needed", "key 'min_ar' = 0.5: not needed",
                           "key 'num_ar_buckets' = 7: not needed", "longest bucket, 65 frames"})
    EXPECT_NE(notes.find(part), std::string::npos) << part << " in: " << notes;
}

TEST_F(Toml, OfDiffusionPipeMakesAClipOfEachCaption) {
  put("clips/captions.json", "{\"a.mp4\":[\"one\",\"two\"]}");
  const std::string toml =
      "resolutions = [64]\nskip_empty_caption = false\n[[directory]]\npath = \"clips\"\n";
  EXPECT_EQ(planned(toml), (Names{"a.mp4#caption0=one", "a.mp4#caption1=two", "b.mp4="}));
}

TEST_F(Toml, OfDiffusionPipeKeepsCaptionsThatAreEmpty) {
  put("clips/b.txt", "");
  EXPECT_EQ(planned("resolutions = [64]\n[[directory]]\npath = \"clips\"\n"), (Names{"a.mp4=A", "b.mp4="}));
}

TEST_F(Toml, OfDiffusionPipeNamesFoldersApart) {
  put("more/clips/a.mp4");
  put("more/clips/a.txt", "A2");
  EXPECT_EQ(
      planned("resolutions = [64]\nnum_repeats = 2\n[[directory]]\npath = 'clips'\n[[directory]]\npath = '" +
              folder_.path() + "/more/clips'\n"),
      (Names{"clips-2/a.mp4=A2", "clips/a.mp4=A", "clips/b.mp4?no caption"}));
}

TEST_F(Toml, OfDiffusionPipeRefusesWhatCannotBe) {
  const std::string top = "resolutions = [64]\n", directory = "[[directory]]\npath = 'clips'\n";
  for (const char* key : {"mask_path = 'm'", "control_path = 'c'", "num_repeats = 0.5", "num_repeats = 0",
                          "shuffle_tags = true", "cache_shuffle_num = 3", "size_buckets = [[512, 512, 33]]",
                          "unheard_of = 1", "frame_buckets = ['a']", "resolutions = ['big']"}) {
    const std::string text = key;
    expect_refused(top + directory + text + "\n",
                   {"data.toml: [directory 1] key '" + text.substr(0, text.find(' ')) + "'"});
  }
  expect_refused(top + "subsample_ratio = 0.5\n" + directory, {"key 'subsample_ratio' = 0.5"});
  for (const std::string& name : {std::string("nowhere"), std::string(300, 'n')})
    expect_refused(top + "[[directory]]\npath = '" + name + "'\n", {"key 'path'", "no such folder"});
  expect_refused("dataset = 'data.toml'\n", {"training file", "data.toml"});
  expect_refused("a = 1\n", {"neither"});
  expect_refused("a = \n", {"data.toml:1"});
  EXPECT_EQ(planned(top + directory + "shuffle_tags = false\ncache_shuffle_num = 0\n").size(), 2u);
}

TEST_F(Toml, OfMusubiRefusesWhatCannotBe) {
  const std::string set = "[[datasets]]\nvideo_directory = 'clips'\n";
  for (const char* key :
       {"control_directory = 'c'", "target_frames = [0]", "target_frames = 13", "frame_extraction = 'tail'",
        "source_fps = 30", "source_fps = 4.0", "num_repeats = 0", "multiple_target = true",
        "fp_1f_target_index = 9", "unheard_of = 1", "resolution = [1, 2, 3]", "frame_stride = 0",
        "video_jsonl_file = 'x'", "resolution = [nan, 64]", "source_fps = nan", "num_repeats = nan"}) {
    const std::string text = key;
    expect_refused(set + text + "\n",
                   {"data.toml: [datasets 1] key '" + text.substr(0, text.find(' ')) + "'"});
  }
  expect_refused("[general]\ntarget_frames = [13]\n" + set, {"data.toml: [general] key 'target_frames'"});
  expect_refused("[[datasets]]\ncache_directory = 'c'\n", {"expected video_directory, video_jsonl_file"});
  for (const std::string& name : {std::string("nowhere"), std::string(300, 'n')})
    expect_refused("[[datasets]]\nvideo_directory = '" + name + "'\n", {"no such folder"});
}

TEST_F(Toml, OfMusubiCutsVideosByFrames) {
  put("v/a.caption", "A");
  run_ffmpeg("-f lavfi -i testsrc2=s=64x48:r=24:d=2 -frames:v 40 -c:v libx264 -bf 2 " + folder_.path() +
             "/v/a.mp4");
  options_.fps = 16;
  const IngestPlan found = plan(
      "[general]\nresolution = [128, 64]\ncaption_extension = \".caption\"\nbatch_size = 1\nenable_bucket = "
      "true\n"
      "bucket_no_upscale = true\nnum_repeats = 2\n[[datasets]]\nvideo_directory = \"v\"\ncache_directory = "
      "\"cache\"\n"
      "target_frames = [13, 27]\nframe_extraction = \"chunk\"\nsource_fps = 24.0\nnum_repeats = 5\n");
  // 40 frames at 24 are 27 at 16: two chunks of 13, one of 25.
  ASSERT_EQ(found.sources.size(), 1u);
  const auto& clips = found.sources[0].clips;
  ASSERT_EQ(clips.size(), 3u);
  EXPECT_EQ(clips[0].name, "a.mp4#00000-013");
  EXPECT_EQ(clips[1].name, "a.mp4#00013-013");
  EXPECT_EQ(clips[2].name, "a.mp4#00000-025");
  EXPECT_EQ(clips[1].window.first_frame, 13);
  EXPECT_EQ(clips[1].window.num_frames, 13);
  EXPECT_TRUE(clips[1].window.keep == (Ratio{2, 3}));
  EXPECT_EQ(clips[1].repeats, 5);
  EXPECT_EQ(found.sources[0].rules.area, 128 * 64);
  EXPECT_FALSE(*found.sources[0].rules.upscale);
}

TEST_F(Toml, OfMusubiSaysWhichVideosAreTooShort) {
  put("v/a.txt", "A");
  run_ffmpeg("-f lavfi -i testsrc2=s=64x48:r=24:d=1 -frames:v 9 -c:v libx264 " + folder_.path() + "/v/a.mp4");
  const std::string set = "[[datasets]]\nvideo_directory = 'v'\ncaption_extension = '.txt'\n";
  EXPECT_EQ(plan(set + "target_frames = [13]\n").sources[0].clips[0].refused,
            "it has 9 frames, fewer than any of target_frames");
  EXPECT_NE(plan(set + "target_frames = [5, 13]\n").warnings.at(0).find("1 videos are too short"),
            std::string::npos);
}

}  // namespace
}  // namespace zoetrope
