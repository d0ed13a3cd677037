// The plan command on traces, over several steps, in both executions; lengths as JSON lines.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/files.h"
#include "schedule/trace.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"
#include "tools/length_file.h"

namespace zoetrope {
namespace {

using testing_support::Finished;
using testing_support::run_process;
using testing_support::TemporaryFolder;

Finished run(std::vector<std::string> words) {
  words.insert(words.begin(), {ZT_BINARY, "plan"});
  return run_process(words);
}

const std::vector<std::string> kTrace{
    "--trace", "t9",        "--samples",         "40",    "--seed",    "5",      "--ranks", "11",
    "--cost",  "ring:1700", "--tokens-per-rank", "65536", "--planner", "elastic"};

nlohmann::json json_of(const std::vector<std::string>& more) {
  std::vector<std::string> words = kTrace;
  words.insert(words.end(), more.begin(), more.end());
  words.push_back("--json");
  const Finished finished = run(words);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  return nlohmann::json::parse(testing_support::printed_json(finished));
}

TEST(PlanTrace, JsonHasTheFiguresThatAnyoneCanRecompute) {
  const std::vector<int64_t> lengths = trace_lengths(find_trace("t9"), 5, 0, 40);
  int64_t tokens = 0, work = 0;
  for (int64_t each : lengths) tokens += each, work += each * each + 6 * 3072 * each;
  for (const char* execution : {"free", "waves"}) {
    const nlohmann::json json = json_of({"--execution", execution});
    EXPECT_EQ(json["execution"], execution);
    EXPECT_EQ(json["tokens"], tokens);
    EXPECT_EQ(json["ideal"], work / 11);
    EXPECT_DOUBLE_EQ(json["efficiency"], double(work / 11) / json["makespan"].get<double>());
    EXPECT_DOUBLE_EQ(json["ratio"], json["makespan"].get<double>() / json["bound"].get<double>());
    EXPECT_GE(json["plan_ms"].get<double>(), 0);
  }
  // Ranks that run free are a looser problem, and no plan in lock-step beats its bound.
  EXPECT_LE(json_of({})["bound"], json_of({"--execution", "waves"})["makespan"]);
}

TEST(PlanTrace, StepsFollowEachOther) {
  const nlohmann::json both = json_of({"--steps", "2"}), second = json_of({"--step", "1"});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0]["plan_hash"], json_of({})["plan_hash"]);
  EXPECT_EQ(both[1]["plan_hash"], second["plan_hash"]);
  std::vector<std::string> words = kTrace;
  words.insert(words.end(), {"--steps", "3"});
  const Finished table = run(words);
  EXPECT_EQ(table.exit_code, 0);
  for (const char* text : {"\n0      elastic", "\n2      elastic", "\nsum    elastic", "trace t9, seed 5"})
    EXPECT_NE(table.output.find(text), std::string::npos) << text << "\n" << table.output;
}

TEST(PlanTrace, WrongUseSaysWhatIsWrong) {
  const auto said = [](std::vector<std::string> words, const char* text) {
    const Finished finished = run(words);
    EXPECT_EQ(finished.exit_code, 2) << finished.output;
    EXPECT_NE(finished.output.find(text), std::string::npos) << text << "\n" << finished.output;
  };
  said({"--trace", "t9", "--ranks", "2"}, "--samples N");
  said({"--samples", "4", "--lengths", "x", "--ranks", "2"}, "--trace NAME");
  said({"--trace", "t9", "--samples", "0"}, "--samples");
  said({"--trace", "t9", "--samples", "4", "--batch", "4"}, "leave --batch out");
  said({"--trace", "t9", "--samples", "4", "--lengths", "x"}, "give one of");
  said({"--trace", "t99", "--samples", "4", "--tokens-per-rank", "9"}, "video-mix");
  said({"--trace", "t9", "--samples", "4", "--steps", "2", "--plan-out", "x"}, "--plan-out");
  said({"--trace", "t9", "--samples", "4", "--execution", "pipeline"}, "waves");
  said({"--trace", "t9", "--samples", "4", "--tokens-per-rank", "9", "--cost", "ring:x"}, "whole number");
}

TEST(LengthFile, ReadsJsonLines) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/lengths.jsonl";
  const auto read = [&](const std::string& text) {
    write_file_atomically(path, text);
    return read_length_file(path);
  };
  const std::vector<int64_t> expected{12, 7};
  EXPECT_EQ(read("{\"tokens\": 12}\n{\"clip\": \"a\", \"tokens\": 7}\n\n"), expected);
  EXPECT_EQ(read("{\"tokens\":12}\r\n{\"tokens\":7}"), expected);
  for (const char* bad :
       {"{\"tokens\": 0}", "{\"tokens\": 1.5}", "{\"tokens\": \"7\"}", "{\"length\": 7}", "{", "7", ""}) {
    try {
      read("{\"tokens\": 12}\n" + std::string(bad) + "\n{\"tokens\": 1}\n");
      ADD_FAILURE() << bad;
    } catch (const Error& problem) {
      EXPECT_NE(std::string(problem.what()).find("lengths.jsonl:2: "), std::string::npos) << problem.what();
    }
  }
}

TEST(LengthFile, NamesFileAndLine) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/lengths.csv";
  write_file_atomically(path, "tokens\n12\nx\n");
  try {
    read_length_file(path);
    ADD_FAILURE();
  } catch (const Error& problem) {
    EXPECT_NE(std::string(problem.what()).find("lengths.csv:3: found 'x'"), std::string::npos)
        << problem.what();
  }
}

}  // namespace
}  // namespace zoetrope
