// Values that can't be are refused with their name, table and what was expected, before anything is done.
#include "tools/train_config.h"

#include <gtest/gtest.h>

#include "core/check.h"
#include "tests/support/process.h"
#include "tools/train_setup.h"

namespace zoetrope {
namespace {

/// The message that one value of a table leads to; empty: it is accepted.
std::string message_for(const std::string& table, const std::string& key, const std::string& value) {
  TrainConfig config;
  OptionSet set;
  config.add_to(set);
  load_toml_text(set, "[" + table + "]\n" + key + " = " + value + "\n", "test");
  try {
    config.validate();
  } catch (const UsageError& error) { return error.what(); }
  return "";
}

TEST(TrainConfig, RefusesValuesThatCannotBe) {
  const std::string most = "9223372036854775807";
  const std::vector<std::array<std::string, 3>> bad{{"model", "num-layers", "0"},
                                                    {"model", "num-layers", "100000000"},
                                                    {"model", "width", most},
                                                    {"model", "text-rows", "-1"},
                                                    {"model", "patch", "[4, 8, 0]"},
                                                    {"flow", "logit-std", "0.0"},
                                                    {"flow", "logit-mean", "nan"},
                                                    {"flow", "shift", "0.0"},
                                                    {"flow", "caption-dropout", "1.5"},
                                                    {"flow", "caption-dropout", "-0.5"},
                                                    {"flow", "sigma-floor", "0.0"},
                                                    {"plan", "batch", "0"},
                                                    {"plan", "batch", most},
                                                    {"plan", "cp", "-3"},
                                                    {"plan", "memory-per-rank", "-1"},
                                                    {"parallel", "ranks", "-2"},
                                                    {"parallel", "threads-per-rank", "-3"},
                                                    {"parallel", "threads-per-rank", "100000"},
                                                    {"optimisation", "schedule-steps", "0"},
                                                    {"optimisation", "warmup-steps", "-1"},
                                                    {"optimisation", "learning-rate", "nan"},
                                                    {"optimisation", "learning-rate", "-1.0"},
                                                    {"optimisation", "learning-rate", "inf"},
                                                    {"optimisation", "final-learning-rate", "-1.0"},
                                                    {"optimisation", "beta1", "1.0"},
                                                    {"optimisation", "beta2", "-0.1"},
                                                    {"optimisation", "adam-epsilon", "0.0"},
                                                    {"optimisation", "weight-decay", "-1.0"},
                                                    {"optimisation", "clip", "nan"},
                                                    {"optimisation", "ema-decay", "1.0"},
                                                    {"checkpoint", "checkpoint-every", "-1"},
                                                    {"checkpoint", "keep-checkpoints", "-1"}};
  for (const auto& [table, key, value] : bad) {
    const std::string message = message_for(table, key, value);
    EXPECT_NE(message.find("--" + key), std::string::npos) << key << " = " << value << ": " << message;
    EXPECT_NE(message.find("[" + table + "]"), std::string::npos) << message;
    EXPECT_NE(message.find("expected"), std::string::npos) << message;
  }
}

TEST(TrainConfig, TakesTheEdgesOfWhatCanBe) {
  for (const auto& [table, key, value] :
       std::vector<std::array<std::string, 3>>{{"flow", "caption-dropout", "1.0"},
                                               {"optimisation", "ema-decay", "0.0"},
                                               {"optimisation", "learning-rate", "0.0"},
                                               {"optimisation", "clip", "0.0"},
                                               {"parallel", "ranks", "0"},
                                               {"checkpoint", "checkpoint-every", "0"}})
    EXPECT_EQ(message_for(table, key, value), "") << key;
  EXPECT_NO_THROW(TrainConfig{}.validate());
}

TEST(TrainConfig, CostsOnPaperTrainNothing) {
  PlanOptions plan;
  std::string source;
  plan.cost = "h100";
  EXPECT_EQ(settle_cost(plan, "", &source).name, "h100");
  plan.cost = "ring:1700";
  EXPECT_THROW(settle_cost(plan, "", &source), UsageError);
}

TEST(TrainConfig, EveryCommandThatReadsItChecks) {
  using testing_support::run_process;
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"train", "--data", "none", "--run", "none"},
                                             {"profile", "--out", "none.toml"},
                                             {"plan", "--data", "none"},
                                             {"bench", "step"}}) {
    std::vector<std::string> command{ZT_BINARY};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), {"--memory-per-rank", "-1"});
    const testing_support::Finished finished = run_process(command);
    EXPECT_EQ(finished.exit_code, 2) << words[0] << ": " << finished.output;
    EXPECT_NE(finished.output.find("--memory-per-rank"), std::string::npos) << finished.output;
  }
  EXPECT_EQ(run_process({ZT_BINARY, "selftest", "--ranks", "100000"}).exit_code, 2);
}

TEST(TrainConfig, ACpSizeThatCannotBeIsWrongUseBeforeAnythingIsRead) {
  using testing_support::run_process;
  const std::string config = ZT_SOURCE_DIR "/configs/tiny.toml";
  const std::vector<std::vector<std::string>> commands{
      {"train", "--config", config, "--data", "none", "--run", "none", "--ranks", "2"},
      {"train", "--config", config, "--data", "none", "--run", "none", "--ranks", "1"},
      {"bench", "cp", "--config", config, "--data", "none", "--ranks", "2"},
      {"plan", "--config", config, "--lengths", "none", "--ranks", "4"}};
  for (std::vector<std::string> words : commands) {
    words.insert(words.begin(), ZT_BINARY);
    words.insert(words.end(), {"--planner", "static", "--cp", "3"});
    const testing_support::Finished finished = run_process(words);
    EXPECT_EQ(finished.exit_code, 2) << words[1] << ": " << finished.output;
    EXPECT_NE(finished.output.find("--cp 3 does not divide"), std::string::npos) << finished.output;
  }
  const testing_support::Finished elastic =
      run_process({ZT_BINARY, "train", "--config", config, "--data", "none", "--run", "none", "--cp", "2"});
  EXPECT_EQ(elastic.exit_code, 2) << elastic.output;
  EXPECT_NE(elastic.output.find("planner 'elastic'"), std::string::npos) << elastic.output;
}

TEST(Flags, ValuesThatCannotBeAreWrongUse) {
  using testing_support::run_process;
  const std::string most = "9223372036854775807", out = testing::TempDir() + "/flags.mp4";
  const std::vector<std::string> sample{"sample", "--run", "none", "--prompt", "x", "--out", out};
  const std::vector<std::string> heldout{"heldout", "--run",        "none", "--data",
                                         "none",    "--train-data", "none"};
  const std::vector<std::string> plan{"plan", "--data", "none"};
  const std::vector<std::pair<std::vector<std::string>, std::array<std::string, 2>>> cases{
      {sample, {"--frames", "0"}},
      {sample, {"--frames", most}},
      {sample, {"--fps", "0"}},
      {sample, {"--fps", "nan"}},
      {sample, {"--shift", "0"}},
      {sample, {"--guidance", "nan"}},
      {sample, {"--sampling-steps", "0"}},
      {heldout, {"--sigmas", "0"}},
      {heldout, {"--sigmas", "0.5,nan"}},
      {heldout, {"--sigmas", "1.5"}},
      {heldout, {"--sigmas", ""}},
      {plan, {"--ranks", "1000000000"}},
      {plan, {"--step", most}},
      {plan, {"--tokens-per-rank", most}},
      {{"profile", "--out", "none.toml"}, {"--seconds", "nan"}}};
  for (const auto& [words, flag] : cases) {
    std::vector<std::string> command{ZT_BINARY};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), flag.begin(), flag.end());
    const testing_support::Finished finished = run_process(command);
    EXPECT_EQ(finished.exit_code, 2) << flag[0] << " " << flag[1] << ": " << finished.output;
    EXPECT_EQ(finished.output.find("error: " + flag[0]), 0u) << finished.output;
  }
}

}  // namespace
}  // namespace zoetrope
