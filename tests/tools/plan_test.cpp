// The plan command as a user calls it: files in, exit code, text and JSON out.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "schedule/order.h"
#include "schedule/plan.h"
#include "tests/support/small_dataset.h"
#include "tools/commands.h"
#include "video/store/dataset.h"

namespace zoetrope {
namespace {

struct Answer {
  int exit_code = 0;
  std::string out, error;
};

Answer run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"zoetrope", "plan"});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  std::vector<Command> commands{plan_command()};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run_command_line(int(argv.size()), argv.data(), commands, "", "");
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

std::string write_lengths(const std::string& text) {
  const std::string path = testing::TempDir() + "/plan_lengths-" + std::to_string(getpid()) + ".csv";
  write_file_atomically(path, text);
  return path;
}

TEST(PlanCommand, PlansAFileAndWritesThePlan) {
  const std::string lengths = write_lengths("tokens\n900\n100\n250\n40\n"),
                    out = testing::TempDir() + "/plan-" + std::to_string(getpid()) + ".json";
  const Answer answer =
      run({"--lengths", lengths, "--ranks", "3", "--tokens-per-rank", "500", "--json", "--plan-out", out});
  ASSERT_EQ(answer.exit_code, 0) << answer.error;
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json["samples"], 4);
  EXPECT_EQ(json["ranks"], 3);
  EXPECT_LE(json["max_tokens_per_rank"], 500);
  const Plan plan = plan_from_json(read_file(out), out);
  validate_plan(plan, {900, 100, 250, 40}, 3);
  EXPECT_EQ(json["plan_hash"], hex64(hash_of(plan)));
  EXPECT_EQ(json["waves"], plan.waves.size());
}

TEST(PlanCommand, OutputsAreFilesOfTheirOwn) {
  const std::string lengths = write_lengths("900\n100\n250\n40\n"), before = read_file(lengths),
                    out = testing::TempDir() + "/plan_out-" + std::to_string(getpid());
  const auto refuses = [&](std::vector<std::string> flags, const char* named) {
    flags.insert(flags.end(), {"--lengths", lengths, "--ranks", "4", "--tokens-per-rank", "500"});
    const Answer answer = run(flags);
    EXPECT_EQ(answer.exit_code, 2) << answer.out;
    EXPECT_NE(answer.error.find(named), std::string::npos) << answer.error;
  };
  refuses({"--html", out, "--timeline", out}, "--timeline and --html both write");
  refuses({"--plan-out", out, "--html", testing::TempDir() + "/./" + out.substr(out.rfind('/'))},
          "both write");
  for (const char* flag : {"--html", "--timeline", "--plan-out"}) refuses({flag, lengths}, "--lengths");
  EXPECT_EQ(read_file(lengths), before);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(PlanCommand, JsonOfStepsSaysWhichStep) {
  const Answer answer = run({"--trace", "t1", "--samples", "4", "--ranks", "4", "--tokens-per-rank", "30000",
                             "--step", "5", "--steps", "2", "--json"});
  ASSERT_EQ(answer.exit_code, 0) << answer.error;
  const auto json = nlohmann::json::parse(answer.out);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["step"], 5);
  EXPECT_EQ(json[1]["step"], 6);
}

TEST(PlanCommand, ComparesAllPlannersAndMarksSizes) {
  const Answer answer = run({"--lengths", write_lengths("900\n100\n250\n40\n"), "--ranks", "4",
                             "--tokens-per-rank", "500", "--planner", "all"});
  ASSERT_EQ(answer.exit_code, 0) << answer.error;
  for (const char* text : {"dropped 0", "static ", "static-balanced", "greedy-waves", "bags", "dynamic",
                           "elastic", "<- fastest", "<- smallest that fits"})
    EXPECT_NE(answer.out.find(text), std::string::npos) << text << "\n" << answer.out;
}

TEST(PlanCommand, BagsAreOfAllRanksAndForTheirPlanner) {
  const std::string lengths = write_lengths("900\n100\n250\n40\n");
  const auto plan = [&](const std::string& planner, const std::string& bags) {
    return run({"--lengths", lengths, "--ranks", "4", "--tokens-per-rank", "500", "--planner", planner,
                "--bags", bags, "--json"});
  };
  const Answer answer = plan("bags", "g1n2+g2n1");
  ASSERT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_EQ(nlohmann::json::parse(answer.out)["largest_ring"], 2);
  EXPECT_EQ(plan("all", "g2n2").exit_code, 0);
  EXPECT_EQ(plan("bags", "g1n4").exit_code, 3);  // no bag holds 900 tokens
  for (const Answer& wrong : {plan("bags", "g1n2+g2n2"), plan("bags", "2x2"), plan("elastic", "g2n2")}) {
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_NE(wrong.error.find("--bags"), std::string::npos) << wrong.error;
  }
}

TEST(PlanCommand, PlansTheStepThatTrainingWouldRun) {
  const testing_support::SmallDataset data;
  const std::vector<int64_t> lengths = Dataset(data.folder()).lengths();
  const Answer answer =
      run({"--data", data.folder(), "--ranks", "2", "--batch", "3", "--seed", "11", "--step", "4", "--json"});
  ASSERT_EQ(answer.exit_code, 0) << answer.error;
  int64_t tokens = 0;
  for (int64_t sample : SampleOrder(int64_t(lengths.size()), 11).samples(12, 3))
    tokens += lengths[size_t(sample)];
  const auto json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json["samples"], 3);
  EXPECT_EQ(json["tokens"], tokens);
}

TEST(PlanCommand, ExitCodesTellWrongUseFromWhatCannotFit) {
  const std::string lengths = write_lengths("900\n");
  EXPECT_EQ(run({"--ranks", "2"}).exit_code, 2);
  EXPECT_EQ(run({"--lengths", lengths, "--ranks", "0", "--tokens-per-rank", "9"}).exit_code, 2);
  EXPECT_EQ(run({"--lengths", lengths, "--ranks", "2", "--tokens-per-rank", "500", "--cp", "2"}).exit_code,
            2);
  EXPECT_EQ(run({"--lengths", lengths, "--tokens-per-rank", "500", "--memory-per-rank", "5"}).exit_code, 2);
  EXPECT_EQ(run({"--lengths", lengths, "--tokens-per-rank", "500", "--cost", "nowhere"}).exit_code, 2);
  for (const char* planner :
       {"static", "static-balanced", "greedy-waves", "bags", "dynamic", "elastic", "all"}) {
    const Answer answer =
        run({"--lengths", lengths, "--ranks", "2", "--tokens-per-rank", "449", "--planner", planner});
    EXPECT_EQ(answer.exit_code, 3) << planner;
    EXPECT_NE(answer.error.find("sample 0 has 900 tokens"), std::string::npos) << answer.error;
  }
  const Answer memory = run({"--lengths", lengths, "--ranks", "2", "--memory-per-rank", "1000000"});
  EXPECT_EQ(memory.exit_code, 3);
  EXPECT_NE(memory.error.find("raise --memory-per-rank to"), std::string::npos) << memory.error;
}

TEST(PlanCommand, AListBeyondOneStepAsksForABatch) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i % 100 + 1) + "\n";
  const std::string lengths = write_lengths(text);
  const Answer whole = run({"--lengths", lengths, "--ranks", "4", "--tokens-per-rank", "1000"});
  EXPECT_EQ(whole.exit_code, 2) << whole.error;
  EXPECT_NE(whole.error.find("holds 100000 lengths"), std::string::npos) << whole.error;
  EXPECT_NE(whole.error.find("--batch"), std::string::npos) << whole.error;
  EXPECT_EQ(
      run({"--lengths", lengths, "--ranks", "4", "--tokens-per-rank", "1000", "--batch", "8"}).exit_code, 0);
}

TEST(PlanCommand, ReadsWhatASpreadsheetWrites) {
  const std::string lengths = write_lengths("\xef\xbb\xbfname,tokens\r\na,90\r\nb,10\r\n");
  const Answer answer = run({"--lengths", lengths, "--ranks", "2", "--tokens-per-rank", "100"});
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_NE(answer.out.find("2 samples, 100 tokens"), std::string::npos) << answer.out;
}

TEST(PlanCommand, MemoryCapIsTheLargestThatFitsTheBytes) {
  const std::string lengths = write_lengths("900\n100\n250\n40\n");
  const Answer error = run({"--lengths", lengths, "--ranks", "2", "--memory-per-rank", "1000000"});
  const size_t at = error.error.find("raise --memory-per-rank to ") + 27;
  const std::string least = error.error.substr(at, error.error.find(',', at) - at);
  const Answer answer = run({"--lengths", lengths, "--ranks", "2", "--memory-per-rank", least, "--json"});
  ASSERT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_EQ(nlohmann::json::parse(answer.out)["tokens_per_rank_cap"], 450);
  EXPECT_EQ(
      run({"--lengths", lengths, "--ranks", "2", "--memory-per-rank", std::to_string(std::stoll(least) - 1)})
          .exit_code,
      3);
}

}  // namespace
}  // namespace zoetrope
