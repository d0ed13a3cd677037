// Scenes, filters and scores through a whole ingest: names, times, captions, restart, and the manifest.
#include <gtest/gtest.h>
#include <cmath>
#include <filesystem>
#include <map>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/ingest/ingest.h"
#include "video/ingest/scene_plan.h"
#include "video/store/dataset.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::run_ffmpeg;
using testing_support::TemporaryFolder;
using testing_support::write_text;

class SceneIngest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_.path() + "/clips");
    // Scenes of 0.04, 2 and 3.5 s.
    run_ffmpeg(
        "-f lavfi -i testsrc2=s=160x120:r=25 -f lavfi -i mandelbrot=s=160x120:r=25 "
        "-f lavfi -i smptebars=s=160x120:r=25 -filter_complex "
        "[0]trim=end_frame=1[a];[1]trim=end_frame=50[b];[2]trim=end_frame=87[c];[a][b][c]concat=n=3 "
        "-c:v libx264 -pix_fmt yuv420p " +
        source("long.mp4"));
    write_text(source("long.txt"), "several scenes");
    run_ffmpeg("-f lavfi -i testsrc2=s=160x120:r=25:d=1 -c:v libx264 -pix_fmt yuv420p " + source("one.mp4"));
    write_text(source("one.txt"), "one scene");
    fs::copy_file(source("long.mp4"), source("table.mp4"));
    write_text(source("metadata.csv"),
               "file_name,caption,start,end\ntable.mp4,first,0,1\ntable.mp4,second,3,5\n");
    write_text(source("bad.mp4"), "no video");
    write_text(source("bad.txt"), "none");
  }
  std::string source(const std::string& name) const { return folder_.path() + "/clips/" + name; }
  std::string target(const std::string& name) const { return folder_.path() + "/" + name; }
  IngestRequest request(const std::string& name, int64_t workers = 2) const {
    IngestRequest out;
    out.source = folder_.path() + "/clips";
    out.dataset = target(name);
    out.workers = workers;
    out.shard_samples = 2;
    out.decode.max_seconds = 2;
    out.analysis.scenes = SceneDetector::kAdaptive;
    out.analysis.filters.min_seconds = 0.6;
    return out;
  }
  static IngestResult run(const IngestRequest& request) {
    return ingest(request, [](const IngestProgress&) {});
  }
  static std::map<std::string, std::string> bytes_of(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder))
      files[entry.path().filename()] = read_file(entry.path());
    return files;
  }
  TemporaryFolder folder_;
};

TEST_F(SceneIngest, CutsFilesAndNamesTheParts) {
  const IngestResult result = run(request("data"));
  std::vector<std::string> names;
  for (const ManifestEntry& entry : result.entries) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"bad.mp4", "long.mp4#0", "long.mp4#1", "long.mp4#2",
                                             "long.mp4#3", "one.mp4", "table.mp4#0", "table.mp4#1"}));
  const ManifestEntry& foreign = result.entries[1];
  EXPECT_EQ(foreign.reason, "too short: seconds 0.04 is less than --min-seconds 0.6");
  EXPECT_TRUE(foreign.refused() && foreign.skipped && foreign.analysis.filtered);
  EXPECT_EQ(result.entries[2].analysis.window_start, 0.04);
  EXPECT_EQ(result.entries[2].analysis.window_end, 2.04);
  EXPECT_EQ(result.entries[3].analysis.window_end, 3.78) << "3.48 s in two parts";
  EXPECT_TRUE(std::isnan(result.entries[4].analysis.window_end));
  EXPECT_FALSE(result.entries[5].analysis.has_window);
  EXPECT_EQ(result.entries[6].analysis.window_end, 1);
  for (size_t i = 2; i < 8; ++i) EXPECT_FALSE(result.entries[i].refused()) << result.entries[i].reason;
  EXPECT_EQ(result.entries[2].verdict, "trimmed")
      << "17 frames are 1 + 4 x 4 without a rest: " << result.entries[2].reason;
  EXPECT_EQ(result.entries[2].reason.find("max-seconds"), std::string::npos) << result.entries[2].reason;
  const Dataset dataset(target("data"));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(dataset.samples()[i].caption, "several scenes");
  EXPECT_EQ(result.entries[4].analysis.scores.motion, 0) << "smptebars";
  EXPECT_GT(result.entries[2].analysis.scores.motion, 1) << "mandelbrot";
}

TEST_F(SceneIngest, GivesTheSameBytesAfterStopsAndForAnyWorkers) {
  run(request("whole", 1));
  const auto expected = bytes_of(target("whole"));
  EXPECT_EQ(expected.count("scenes.jsonl"), 1u);
  EXPECT_EQ(expected.count("scenes.partial"), 0u);
  for (int64_t after = 0; after <= 8; ++after) {
    const std::string name = "stopped" + std::to_string(after);
    const auto stop = [&](const IngestProgress& state) {
      if (state.done >= after) throw Error("stopped");
    };
    EXPECT_THROW(ingest(request(name), stop), Error);
    run(request(name, 3));
    EXPECT_TRUE(bytes_of(target(name)) == expected) << name;
  }
  EXPECT_TRUE(run(request("whole")).was_complete);
  EXPECT_TRUE(bytes_of(target("whole")) == expected);
  IngestRequest other = request("whole");
  other.analysis.scenes = SceneDetector::kContent;
  EXPECT_THROW(run(other), Error) << "other cuts are another data set";
}

TEST_F(SceneIngest, RemembersCutsByContent) {
  const FileScenes scenes{150, {149, 25}, {{50, {50, 25}, 80.5}}};
  const SceneLine line = parse_scenes_line(scenes_line("a.mp4", "adaptive 5 abc", scenes));
  EXPECT_EQ(line.key, "adaptive 5 abc");
  EXPECT_EQ(line.scenes.cuts, scenes.cuts);
  EXPECT_TRUE(line.scenes.last_time == scenes.last_time);
  EXPECT_THROW(parse_scenes_line("{\"key\":"), Error);
  // A killed run's list, with a torn line: what it says of a file's content is believed.
  run(request("data"));
  const std::string found = read_file(scenes_path(target("data")));
  fs::create_directories(target("resumed"));
  write_text(target("resumed") + "/scenes.partial", "\n" + found + "{\"name\":\"tor");
  run(request("resumed"));
  EXPECT_TRUE(bytes_of(target("resumed")) == bytes_of(target("data")));
}

TEST_F(SceneIngest, FiltersSayWhatTheyRefuse) {
  IngestRequest with = request("data");
  with.analysis.filters.min_motion = 0.5;
  const IngestResult result = run(with);
  EXPECT_EQ(result.entries[4].reason, "too little motion: levels per second 0 is less than --min-motion 0.5");
  EXPECT_TRUE(result.entries[4].analysis.filtered);
  EXPECT_TRUE(result.entries[4].analysis.has_scores);
  // A manifest line reads back as it was written.
  for (const ManifestEntry& entry : result.entries)
    EXPECT_EQ(manifest_line(parse_manifest_line(manifest_line(entry), "line")), manifest_line(entry));
}

}  // namespace
}  // namespace zoetrope
