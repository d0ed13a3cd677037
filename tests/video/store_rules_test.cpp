// Options that differ are named one by one, in the words of the command line.
#include <gtest/gtest.h>

#include "core/check.h"
#include "video/store/dataset_writer.h"
#include "video/store/rules_diff.h"

namespace zoetrope {
namespace {

DatasetRules some_rules() {
  DatasetRules rules;
  rules.options = R"({"area":6144,"missing_caption":"error","libavcodec":"59.37.100"})";
  return rules;
}

TEST(RulesDifference, NamesEachOptionThatDiffers) {
  const std::string then = rules_text(some_rules());
  EXPECT_EQ(rules_difference(then, then), "");
  DatasetRules rules = some_rules();
  rules.fps = 4;
  rules.patch.t = 2;
  rules.shard_bytes = 1 << 20;
  rules.part = {2, 4};
  rules.options = R"({"area":6144,"missing_caption":"skip","libavcodec":"61.19.101","deinterlace":true})";
  const std::string text = rules_difference(then, rules_text(rules));
  EXPECT_EQ(text,
            "\n  --patch: then [4,8,8], now [2,8,8]"
            "\n  --fps: then 8.0, now 4.0"
            "\n  --shard-megabytes: then 64, now 1"
            "\n  --missing-caption: then \"error\", now \"skip\""
            "\n  the program's libavcodec: then \"59.37.100\", now \"61.19.101\""
            "\n  --part: then not there, now 2/4"
            "\n  --deinterlace: then not there, now true");
  EXPECT_NE(rules_difference("torn", then).find("torn"), std::string::npos);
  try {
    require_same_rules("data", then, rules_text(rules));
    FAIL() << "the rules differ";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'data' was made with other options:\n  --patch"),
              std::string::npos)
        << error.what();
  }
}

TEST(RulesText, IsReadBackOrRefused) {
  DatasetRules rules = some_rules();
  rules.part = {2, 4};
  rules.fps = 23.976;
  EXPECT_EQ(rules_text(parse_rules(rules_text(rules))), rules_text(rules));
  std::string other = rules_text(rules);
  other.replace(other.find("\"version\":2"), 11, "\"version\":9");
  EXPECT_THROW(parse_rules(other), Error);
  EXPECT_THROW(parse_rules("{}"), Error);
  EXPECT_THROW(parse_rules("no rules"), Error);
}

}  // namespace
}  // namespace zoetrope
