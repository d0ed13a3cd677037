// bench ingest on a small clip: every figure is there; how large they are is the machine's business.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/media.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"

namespace zoetrope {
namespace {

using testing_support::Finished;
using testing_support::printed_json;
using testing_support::run_process;

TEST(BenchIngest, MeasuresShareStagesAndWorkers) {
  const testing_support::TemporaryFolder folder;
  const std::string clip = folder.path() + "/clip.mp4";
  testing_support::run_ffmpeg("-f lavfi -i testsrc2=s=128x96:r=24 -frames:v 24 -c:v libx264 -bf 0 " + clip);
  const Finished finished = run_process({ZT_BINARY, "bench", "ingest", "--video", clip, "--loops", "2",
                                         "--runs", "1", "--scratch", folder.path(), "--json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.output;
  const nlohmann::json found = nlohmann::json::parse(printed_json(finished));
  EXPECT_EQ(found.at("one_core").at("frames"), 48);
  EXPECT_GT(found.at("one_core").at("share"), 0.0);
  for (const char* stage : {"scores", "conversion to tokens", "chunks, hash, write", "sync, rename"})
    EXPECT_TRUE(found.at("one_core").at("stages_ms_per_frame").contains(stage)) << stage;
  EXPECT_EQ(found.at("workers").at(0).at("speed_up"), 1.0);
}

TEST(BenchIngest, NeedsAVideo) { EXPECT_EQ(run_process({ZT_BINARY, "bench", "ingest"}).exit_code, 2); }

}  // namespace
}  // namespace zoetrope
