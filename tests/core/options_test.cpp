#include "core/options.h"

#include <gtest/gtest.h>
#include <bit>
#include <cstdio>
#include <limits>
#include <random>

#include "core/files.h"

namespace zoetrope {
namespace {

struct Everything {
  bool on = false;
  int64_t whole = 7;
  double real = 0.1;
  std::string text = "plain", choice = "one";
  std::vector<int64_t> wholes{1, 2};
  std::vector<double> reals;
  std::vector<std::string> texts{"a"}, choices;
  void visit(auto&& field) {
    field("on", on, "a switch");
    field("whole", whole, "an integer");
    field("real", real, "a number");
    field("text", text, "a text\nover two lines");
    field("choice", choice, "one of few", std::vector<std::string>{"one", "two"});
    field("whole-list", wholes, "integers");
    field("real-list", reals, "numbers");
    field("text-list", texts, "texts");
    field("choice-list", choices, "some of few", std::vector<std::string>{"one", "two"});
  }
};

void expect_same(const Everything& a, const Everything& b) {
  EXPECT_EQ(a.on, b.on);
  EXPECT_EQ(a.whole, b.whole);
  EXPECT_EQ(std::bit_cast<uint64_t>(a.real), std::bit_cast<uint64_t>(b.real)) << a.real << " " << b.real;
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.choice, b.choice);
  EXPECT_EQ(a.wholes, b.wholes);
  ASSERT_EQ(a.reals.size(), b.reals.size());
  for (size_t i = 0; i < a.reals.size(); ++i)
    EXPECT_EQ(std::bit_cast<uint64_t>(a.reals[i]), std::bit_cast<uint64_t>(b.reals[i])) << a.reals[i];
  EXPECT_EQ(a.texts, b.texts);
  EXPECT_EQ(a.choices, b.choices);
}

Everything round_trip(Everything& value) {
  OptionSet set;
  set.add_table("all", value);
  Everything back;
  back.on = !value.on;
  back.text = back.choice = "something else";
  back.wholes = {99};
  back.reals = {99};
  back.texts = back.choices = {"something else"};
  OptionSet back_set;
  back_set.add_table("all", back);
  load_toml_text(back_set, dump_toml(set), "dump");
  return back;
}

/// The message of the UsageError that reading `text` throws.
std::string failure(const std::string& text, const std::vector<std::string>& ignored = {}) {
  Everything value;
  OptionSet set;
  set.add_table("all", value);
  try {
    load_toml_text(set, text, "file.toml", ignored);
  } catch (const UsageError& error) { return error.what(); }
  return "";
}

TEST(OptionsToml, SavedValuesReadBackBitEqual) {
  const std::string awkward[] = {"",
                                 " ",
                                 "#",
                                 "a # b",
                                 "\"",
                                 "'",
                                 "a\"b'c",
                                 "a, b",
                                 "[1, 2]",
                                 "\\",
                                 "\\n",
                                 "line\nline",
                                 "\r\n",
                                 "\t",
                                 " leading and trailing ",
                                 "\x01\x1f\x7f",
                                 std::string(1, '\0'),
                                 "äöü€😀",
                                 "\"\"\"",
                                 "'''",
                                 "true",
                                 "1",
                                 "= x",
                                 "[table]"};
  for (const std::string& text : awkward) {
    Everything value;
    value.text = text;
    value.texts = {text, "", text};
    expect_same(value, round_trip(value));
  }
  for (int64_t whole :
       {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), int64_t(0), int64_t(-1)}) {
    Everything value;
    value.whole = whole;
    value.wholes = {whole, 0, whole};
    expect_same(value, round_trip(value));
  }
  using Limits = std::numeric_limits<double>;
  for (double real :
       {0.0, -0.0, 0.1, 1.0 / 3, 1e300, -1e-300, 1e22, Limits::denorm_min(), Limits::min(), Limits::max(),
        Limits::lowest(), Limits::epsilon(), Limits::infinity(), -Limits::infinity(), 123456789012345678.0}) {
    Everything value;
    value.real = real;
    value.reals = {real, -real};
    expect_same(value, round_trip(value));
  }
  Everything empty;
  empty.wholes.clear();
  empty.texts.clear();
  empty.on = true;
  expect_same(empty, round_trip(empty));
}

TEST(OptionsToml, RandomValuesReadBackBitEqual) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto random_real = [&] {
    double value = 0;
    do value = std::bit_cast<double>(random());
    while (value != value);
    return value;
  };
  const auto random_text = [&] {
    std::string text;
    for (uint64_t n = random() % 12; n > 0; --n) {
      constexpr const char* kPieces[] = {"#",  "\"", "'", "\\", ",", " ", "\n", "\r",
                                         "\t", "=",  "[", "]",  "é", "€", "😀"};
      const uint64_t kind = random() % 20;
      if (kind < 15) text += kPieces[kind];
      else text += char(random() % 128);
    }
    return text;
  };
  for (int round = 0; round < 500 && !testing::Test::HasFailure(); ++round) {
    Everything value;
    value.on = random() % 2;
    value.whole = int64_t(random());
    value.real = random_real();
    value.text = random_text();
    value.choice = random() % 2 ? "one" : "two";
    value.wholes.assign(random() % 4, int64_t(random()));
    value.reals.resize(random() % 4);
    for (double& real : value.reals) real = random_real();
    value.texts.resize(random() % 4);
    for (std::string& text : value.texts) text = random_text();
    value.choices.assign(random() % 3, "two");
    expect_same(value, round_trip(value));
  }
}

TEST(OptionsToml, KeepsWhatTheFileDoesNotName) {
  Everything value;
  value.whole = 123;
  OptionSet set;
  set.add_table("all", value);
  load_toml_text(set, "[all]\nreal = 2 # a whole number is a number\n", "file.toml");
  EXPECT_EQ(value.whole, 123);
  EXPECT_EQ(value.real, 2.0);
}

TEST(OptionsToml, RefusesWithFileAndLine) {
  EXPECT_EQ(failure("[all]\nwhole = 3\n"), "");
  EXPECT_EQ(
      failure("[all]\n\nhwole = 3\n"),
      "file.toml:3: unknown key 'hwole' in table [all]; it knows: on, whole, real, text, choice, whole-list, "
      "real-list, text-list, choice-list");
  EXPECT_EQ(failure("[other]\nx = 1\n"),
            "file.toml:1: unknown table or key 'other'; expected one of the tables: [all]");
  EXPECT_EQ(failure("whole = 1\n"),
            "file.toml:1: unknown table or key 'whole'; expected one of the tables: [all]");
  EXPECT_EQ(failure("all = 1\n"), "file.toml:1: 'all' is an integer, expected a table [all]");
  EXPECT_EQ(failure("[all]\nwhole = 1.0\n"), "file.toml:2: all.whole is a number, expected an integer");
  EXPECT_EQ(failure("[all]\nwhole = \"1\"\n"), "file.toml:2: all.whole is a string, expected an integer");
  EXPECT_EQ(failure("[all]\non = 1\n"), "file.toml:2: all.on is an integer, expected true or false");
  EXPECT_EQ(failure("[all]\nreal = 9007199254740993\n"),
            "file.toml:2: all.real is an integer, expected a number");
  EXPECT_EQ(failure("[all]\ntext = [\"a\"]\n"), "file.toml:2: all.text is a list, expected a string");
  EXPECT_EQ(failure("[all]\nwhole-list = 1\n"),
            "file.toml:2: all.whole-list is an integer, expected a list of integers");
  EXPECT_EQ(failure("[all]\nwhole-list = [1,\n2,\n\"x\"]\n"),
            "file.toml:4: all.whole-list[2] is a string, expected a list of integers");
  EXPECT_EQ(failure("[all]\nchoice = \"three\"\n"),
            "file.toml:2: all.choice: found 'three', expected one of: one, two");
  EXPECT_EQ(failure("[all]\nchoice-list = [\"one\", \"three\"]\n"),
            "file.toml:2: all.choice-list[1]: found 'three', expected one of: one, two");
}

TEST(OptionsToml, RefusesDuplicatesAndBadSyntaxWithTheLine) {
  for (const char* text : {"[all]\nwhole = 1\nwhole = 1\n", "[all]\non = true\n[all]\n",
                           "[all]\nwhole = \n \n", "[all]\n\nwhole = 99999999999999999999\n"}) {
    const std::string message = failure(text);
    EXPECT_TRUE(message.starts_with("file.toml:3: ") || message.starts_with("file.toml:2: "))
        << text << message;
  }
}

TEST(OptionsToml, SkipsOnlyTheTablesOfOtherCommands) {
  EXPECT_EQ(failure("[plan]\nanything = 1\n", {"plan"}), "");
  EXPECT_EQ(failure("[plam]\nanything = 1\n", {"plan"}),
            "file.toml:1: unknown table or key 'plam'; expected one of the tables: [all], [plan]");
  EXPECT_NE(failure("[all]\nx = 1\n", {"all"}), "") << "a table that the command has itself is never skipped";
}

TEST(OptionsToml, RefusesToSaveWhatTomlCannotHold) {
  for (const char* text : {"\xff", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    Everything value;
    value.text = text;
    OptionSet set;
    set.add_table("all", value);
    EXPECT_THROW(dump_toml(set), Error);
  }
}

TEST(OptionSetTest, RefusesTheSameNameTwice) {
  Everything value;
  OptionSet set;
  set.add_table("all", value);
  EXPECT_THROW(set.add_flag("whole", value.whole, "again"), Error);
}

// --- the command line ----------------------------------------------------------------------------------

struct Outcome {
  int code = -1;
  bool ran = false, json = false;
  Everything value;
  std::string source, output, errors;
  std::vector<std::string> given;
};

Outcome run(std::vector<std::string> arguments) {
  Outcome outcome;
  std::vector<Command> commands(2);
  commands[0].name = "work";
  commands[0].help = "works";
  commands[0].options.add_positional("source", outcome.source, "where from", false);
  commands[0].options.add_flag("json", outcome.json, "print JSON");
  commands[0].options.add_table("all", outcome.value);
  commands[0].ignored_tables = {"plan"};
  commands[0].run = [&] {
    outcome.ran = true;
    return 1;
  };
  commands[1].name = "fail";
  commands[1].help = "fails";
  commands[1].run = []() -> int { throw Error("cannot read clip 7"); };
  arguments.insert(arguments.begin(), "zoetrope");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  outcome.code =
      run_command_line(int(argv.size()) - 1, argv.data(), commands, "about", "zoetrope 1.2.3\n  details");
  std::fflush(stdout);
  outcome.output = testing::internal::GetCapturedStdout();
  outcome.errors = testing::internal::GetCapturedStderr();
  outcome.given = *commands[0].given;
  return outcome;
}

std::string write_config(const std::string& text) {
  const std::string path = testing::TempDir() + "options_test_" + std::to_string(fnv1a(text)) + ".toml";
  write_file_atomically(path, text);
  return path;
}

TEST(CommandLine, FlagsOfEveryKind) {
  const Outcome outcome = run({"work", "here", "--json", "--on", "--whole", "-5", "--real=1e-3", "--text",
                               "a # \"b\", c", "--choice", "two", "--whole-list", "4,8,-8", "--text-list",
                               "x,y", "--text-list", "z", "--real-list", "0.5"});
  EXPECT_EQ(outcome.errors, "");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(outcome.json && outcome.value.on);
  EXPECT_EQ(outcome.source, "here");
  EXPECT_EQ(outcome.value.whole, -5);
  EXPECT_EQ(outcome.value.real, 1e-3);
  EXPECT_EQ(outcome.value.text, "a # \"b\", c");
  EXPECT_EQ(outcome.value.choice, "two");
  EXPECT_EQ(outcome.value.wholes, (std::vector<int64_t>{4, 8, -8}));
  EXPECT_EQ(outcome.value.texts, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(outcome.value.reals, std::vector<double>{0.5});
}

TEST(CommandLine, TextsArriveUnchanged) {
  for (const std::string text :
       {"", " ", "\"quoted\"", "'quoted'", "[a,b]", "-dash", "--dash", "a\\nb", "%%", "{}", "é"})
    for (const bool joined : {false, true}) {
      if (joined && text.empty()) continue;  // "--text=" lacks its value: an error, never a silent nothing
      const Outcome outcome = joined ? run({"work", "--text=" + text}) : run({"work", "--text", text});
      EXPECT_EQ(outcome.value.text, text) << outcome.errors << joined;
      EXPECT_EQ(outcome.code, 1) << text;
    }
}

TEST(CommandLine, EmptyListFromEmptyText) {
  EXPECT_EQ(run({"work", "--whole-list", ""}).value.wholes, std::vector<int64_t>{});
}

TEST(CommandLine, FlagBeatsFileBeatsDefault) {
  const std::string path = write_config("[all]\nwhole = 100\nreal = 0.25\non = true\n[plan]\nx = 1\n");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"work", "--config", path, "--whole", "200"},
        {"work", "--whole=200", "--config=" + path}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.errors, "");
    EXPECT_EQ(outcome.value.whole, 200);
    EXPECT_EQ(outcome.value.real, 0.25);
    EXPECT_EQ(outcome.value.text, "plain");
    EXPECT_TRUE(outcome.value.on);
    EXPECT_EQ(outcome.given, (std::vector<std::string>{"config", "whole"}));
  }
  EXPECT_FALSE(run({"work", "--config", path, "--no-on"}).value.on);
  EXPECT_FALSE(run({"work", "--config", path, "--on=false"}).value.on);
}

TEST(CommandLine, WholeNumbersMayHaveAnExponent) {
  EXPECT_EQ(run({"work", "here", "--whole", "80e9"}).value.whole, 80'000'000'000);
  EXPECT_EQ(run({"work", "here", "--whole", "-1.5E3"}).value.whole, -1500);
}

TEST(CommandLine, WrongUseIsTwoAndDoesNotRun) {
  const std::string bad_config = write_config("[all]\n\nwhoel = 1\n");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"work", "--whole", "x"},
                                             {"work", "--whole", "1.5"},
                                             {"work", "--whole", "15e-1"},
                                             {"work", "--whole", "1e16"},
                                             {"work", "--whole", "1e"},
                                             {"work", "--whole"},
                                             {"work", "--whole", ""},
                                             {"work", "--whole", "1", "--whole", "2"},
                                             {"work", "--real", "1x"},
                                             {"work", "--choice", "three"},
                                             {"work", "--choice-list", "one,three"},
                                             {"work", "--whole-list", "1,,2"},
                                             {"work", "--nothing"},
                                             {"work", "a", "b"},
                                             {"walk"},
                                             {"--nothing"},
                                             {"work", "--config", "/nonexistent/file.toml"},
                                             {"work", "--config", bad_config},
                                             {"work", "--whole", "99999999999999999999"}}) {
    const Outcome outcome = run(arguments);
    std::string line;
    for (const std::string& argument : arguments) line += argument + " ";
    EXPECT_EQ(outcome.code, 2) << line;
    EXPECT_FALSE(outcome.ran) << line;
    EXPECT_TRUE(outcome.errors.starts_with("error: ")) << line << outcome.errors;
    EXPECT_EQ(outcome.output, "") << line;
  }
  EXPECT_EQ(
      run({"work", "--config", bad_config}).errors.find("error: " + bad_config + ":3: unknown key 'whoel'"),
      0u);
}

TEST(CommandLine, ErrorIsThreeWithItsText) {
  const Outcome outcome = run({"fail"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.errors, "error: cannot read clip 7\n");
}

TEST(CommandLine, NoCommandPrintsHelpAndIsTwo) {
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.errors.find("work"), std::string::npos);
}

TEST(CommandLine, HelpShowsTablesAndDefaults) {
  const Outcome whole = run({"--help"});
  EXPECT_EQ(whole.code, 0);
  EXPECT_NE(whole.output.find("works"), std::string::npos);
  const Outcome help = run({"work", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_FALSE(help.ran);
  for (const char* part : {"SOURCE", "--json", "[all]", "--whole", "--whole-list", "INT,...", "1,2", "0.1",
                           "default: false", "{one,two}", "--config"})
    EXPECT_NE(help.output.find(part), std::string::npos) << part << "\n" << help.output;
  const std::string path = write_config("[all]\nwhole = 4711\n");
  EXPECT_NE(run({"work", "--config", path, "--help"}).output.find("4711"), std::string::npos);
}

TEST(CommandLine, VersionIsPrinted) {
  const Outcome outcome = run({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.output, "zoetrope 1.2.3\n  details\n");
}

}  // namespace
}  // namespace zoetrope
