#include "video/store/rules_diff.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "core/check.h"

namespace zoetrope {
namespace {

using Json = nlohmann::ordered_json;

/// Rules that no option sets.
constexpr const char* kOfTheProgram[] = {"version", "codec", "chunk_bytes"};

bool is_of_the_program(const std::string& key) {
  for (const char* each : kOfTheProgram)
    if (key == each) return true;
  return key.starts_with("lib");
}

std::string shown_name(const std::string& key) {
  if (is_of_the_program(key)) return "the program's " + key;
  if (key == "reading") return "--layout, --caption-lines, --alternatives, --picture-folders, --picture-fps";
  if (key == "shard_bytes") return "--shard-megabytes";
  std::string name = "--" + key;
  for (char& c : name)
    if (c == '_') c = '-';
  return name;
}

std::string shown_value(const std::string& key, const Json& rules) {
  if (!rules.contains(key)) return "not there";
  const Json& value = rules.at(key);
  if (key == "shard_bytes" && value.is_number_integer() && value.get<int64_t>() % (1 << 20) == 0)
    return std::to_string(value.get<int64_t>() >> 20);
  if (key == "part" && value.is_string()) return value.get<std::string>();
  return value.dump();
}

/// Rules and the options among them, side by side.
Json flattened(const std::string& text) {
  Json rules = Json::parse(text, nullptr, false);
  if (!rules.is_object()) return {{"rules", text}};
  if (rules.contains("options") && rules.at("options").is_object()) {
    const Json options = rules.at("options");
    rules.erase("options");
    rules.update(options);
  }
  return rules;
}

}  // namespace

std::string rules_difference(const std::string& then, const std::string& now) {
  const Json before = flattened(then), after = flattened(now);
  std::vector<std::string> keys;
  for (const auto& [key, value] : before.items()) keys.push_back(key);
  for (const auto& [key, value] : after.items())
    if (!before.contains(key)) keys.push_back(key);
  std::string text;
  for (const std::string& key : keys) {
    const std::string was = shown_value(key, before), is = shown_value(key, after);
    if (was != is) text += join_message("\n  ", shown_name(key), ": then ", was, ", now ", is);
  }
  return text;
}

void require_same_rules(const std::string& folder, const std::string& then, const std::string& now) {
  ZT_REQUIRE(then == now, "'", folder, "' was made with other options:", rules_difference(then, now),
             "\nuse the same options", then.find("\"lib") == std::string::npos ? "" : " and the same program",
             ", or another folder");
}

}  // namespace zoetrope
