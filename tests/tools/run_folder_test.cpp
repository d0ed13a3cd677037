#include "tools/run_folder.h"

#include <gtest/gtest.h>

namespace zoetrope {
namespace {

std::string toml_of(TrainConfig config) {
  OptionSet set;
  config.add_to(set);
  return dump_toml(set);
}

RunState saved_state(const TrainConfig& config) {
  RunState state;
  state.step = 20;
  state.draws = 160;
  state.cost.name = "measured, \"here\" # 1";
  state.cost.linear_ns = 1.0 / 3.0;
  state.cluster = {2, 4096, 8};
  state.memory_per_rank = int64_t(9) << 30;
  state.ranks = 2;
  state.threads_per_rank = 1;
  state.config_toml = toml_of(config);
  state.data_fingerprint = "abc";
  state.version = "0.1.0";
  state.kernels = "cpu/f32";
  state.changes = {"step 3: x"};
  return state;
}

Command command_with(std::vector<std::string> given) {
  Command command;
  *command.given = std::move(given);
  return command;
}

TEST(RunState, SurvivesJsonExactly) {
  const RunState before = saved_state({});
  const RunState after = run_state_from_json(to_json(before), "test");
  EXPECT_EQ(to_json(after), to_json(before));
  EXPECT_EQ(hash_of(after.cost), hash_of(before.cost));
  EXPECT_EQ(after.cost.linear_ns, 1.0 / 3.0);
}

TEST(RunState, DamagedJsonNamesTheFile) {
  std::string text = to_json(saved_state({}));
  for (const std::string& bad : {text.substr(0, text.size() / 2), std::string("{}"), std::string("[1]")}) {
    try {
      run_state_from_json(bad, "run/checkpoints/step-000020");
      FAIL() << "accepted: " << bad;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("step-000020"), std::string::npos) << error.what();
    }
  }
}

TEST(Resume, SameConfigIsFine) {
  const TrainConfig config;
  EXPECT_TRUE(check_resume(saved_state(config), config, "abc", CostModel{}, command_with({}), {}).empty());
}

TEST(Resume, WhereAndHowFastMayDiffer) {
  TrainConfig config;
  const RunState saved = saved_state(config);
  config.parallel.ranks = 3;
  config.checkpoint.every = 7;
  config.plan.planner = "static";
  EXPECT_TRUE(check_resume(saved, config, "abc", CostModel{}, command_with({}), {}).empty());
}

TEST(Resume, WhatIsLearnedMayNotDiffer) {
  const RunState saved = saved_state({});
  TrainConfig width, batch, seed;
  width.model.width = 256;
  batch.plan.batch = 9;
  seed.numerics.seed = 1;
  for (const TrainConfig& changed : {width, batch, seed}) {
    EXPECT_THROW(check_resume(saved, changed, "abc", CostModel{}, command_with({}), {}), UsageError);
    const auto record = check_resume(saved, changed, "abc", CostModel{}, command_with({}), {"config"});
    ASSERT_EQ(record.size(), 1u);
    EXPECT_NE(record[0].find("step 20"), std::string::npos);
  }
}

TEST(Resume, SavedCostCapAndDataWinUnlessToldOtherwise) {
  TrainConfig config;
  const RunState saved = saved_state(config);
  CostModel other;
  config.plan.memory_per_rank = 123;
  EXPECT_TRUE(check_resume(saved, config, "abc", other, command_with({}), {}).empty())
      << "values of a file don't contradict";
  EXPECT_THROW(check_resume(saved, config, "abc", other, command_with({"cost"}), {}), UsageError);
  EXPECT_THROW(check_resume(saved, config, "abc", other, command_with({"memory-per-rank"}), {"cost"}),
               UsageError);
  EXPECT_THROW(check_resume(saved, config, "other", other, command_with({}), {"cost", "memory"}), UsageError);
  EXPECT_EQ(check_resume(saved, config, "other", other, command_with({"cost", "memory-per-rank"}),
                         {"cost", "memory", "data"})
                .size(),
            3u);
}

}  // namespace
}  // namespace zoetrope
