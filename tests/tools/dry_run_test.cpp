// The dry run of a training config on a real data set: what it prints, and what it refuses before a run
// would.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "schedule/order.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"
#include "video/store/dataset.h"

namespace zoetrope {
namespace {

using namespace testing_support;

class DryRun : public testing::Test {
 protected:
  Finished plan(const std::vector<std::string>& more) const {
    std::vector<std::string> words{ZT_BINARY, "plan",        "--config", ZT_SOURCE_DIR "/configs/tiny.toml",
                                   "--data",  data_.folder()};
    words.insert(words.end(), more.begin(), more.end());
    return run_process(words);
  }
  void expect_refused(const std::vector<std::string>& words, const std::vector<std::string>& texts) const {
    const Finished finished = plan(words);
    EXPECT_EQ(finished.exit_code, 3) << finished.output;
    for (const std::string& text : texts)
      EXPECT_NE(finished.output.find(text), std::string::npos) << text << "\n" << finished.output;
  }
  const SmallDataset data_;
  const std::vector<int64_t> lengths_ = Dataset(data_.folder()).lengths();
};

TEST_F(DryRun, SaysWhatARunWouldTake) {
  for (const std::vector<std::string>& steps :
       {std::vector<std::string>{}, std::vector<std::string>{"--steps", "3"}}) {
    std::vector<std::string> words{"--ranks", "3"};
    words.insert(words.end(), steps.begin(), steps.end());
    const Finished finished = plan(words);
    ASSERT_EQ(finished.exit_code, 0) << finished.output;
    for (const char* text : {"dropped 0", "all 8 samples fit", "an epoch is 2.0 steps", "peak", "busy"})
      EXPECT_NE(finished.output.find(text), std::string::npos) << text << "\n" << finished.output;
  }
}

// A step of the whole data set is an epoch.
TEST_F(DryRun, AnEpochTakesWhatItsStepsTake) {
  const Finished finished = plan({"--ranks", "2", "--batch", std::to_string(lengths_.size()), "--json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.output;
  const nlohmann::json json = nlohmann::json::parse(testing_support::printed_json(finished));
  EXPECT_EQ(json["dropped"], 0);
  EXPECT_EQ(json["epoch_samples"], lengths_.size());
  EXPECT_EQ(json["epoch_steps"], 1.0);
  EXPECT_NEAR(double(json["epoch_ns"]), double(json["makespan"]), 1);
  const std::vector<int64_t> peaks = json["peak_bytes"];
  ASSERT_EQ(peaks.size(), 2u);
  EXPECT_LE(*std::max_element(peaks.begin(), peaks.end()), int64_t(json["memory_limit"]));
}

// The planned step holds short samples alone; the long one would come hours later.
TEST_F(DryRun, RefusesASampleOfALaterStep) {
  const size_t longest = size_t(std::max_element(lengths_.begin(), lengths_.end()) - lengths_.begin());
  SampleOrder order(int64_t(lengths_.size()), 0);
  int64_t step = 0;
  while (order.samples(step, 1).front() == int64_t(longest)) ++step;
  const std::string cap = std::to_string((lengths_[longest] - 1) / 2);
  char clip[32];
  std::snprintf(clip, sizeof clip, "clip-%04zu.mp4", longest);
  for (const char* planner : {"elastic", "static", "greedy-waves", "all"})
    expect_refused({"--ranks", "2", "--batch", "1", "--step", std::to_string(step), "--tokens-per-rank", cap,
                    "--planner", planner},
                   {clip, std::to_string(lengths_[longest]) + " tokens", "fits nowhere", "Use more ranks"});
  expect_refused(
      {"--ranks", "2", "--batch", "1", "--step", std::to_string(step), "--memory-per-rank", "900000"},
      {clip, "raise --memory-per-rank"});
}

TEST_F(DryRun, RefusesAModelOfAnotherPatch) {
  TemporaryFolder folder;
  const std::string config = folder.path() + "/config.toml";
  write_file_atomically(config, "[model]\npatch = [1, 8, 8]\n");
  const Finished finished = run_process({ZT_BINARY, "plan", "--config", config, "--data", data_.folder()});
  EXPECT_EQ(finished.exit_code, 3) << finished.output;
  EXPECT_NE(finished.output.find("patch"), std::string::npos) << finished.output;
}

}  // namespace
}  // namespace zoetrope
