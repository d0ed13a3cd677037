#include "tools/length_file.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/check.h"
#include "core/files.h"
#include "tools/text_format.h"

namespace zoetrope {
namespace {

constexpr int64_t kMostTokens = int64_t(1) << 31;  // squares of it still fit

std::vector<std::string> split_line(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::vector<std::string> fields(1);
  for (char c : line) {
    if (c == ',') fields.emplace_back();
    else if (c != ' ' && c != '\t' && c != '"') fields.back() += c;
  }
  return fields;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int64_t read_number(const std::string& text, const std::string& path, int64_t line) {
  int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  ZT_REQUIRE(result.ec == std::errc() && result.ptr == text.data() + text.size() && value > 0 &&
                 value <= kMostTokens,
             path, ":", line, ": found '", shortened(text), "', expected a whole number of tokens, 1 to ",
             kMostTokens);
  return value;
}

/// The number under the key `tokens` of a line's object.
int64_t read_object(const std::string& text, const std::string& path, int64_t line) {
  const auto object = nlohmann::json::parse(text, nullptr, false);
  ZT_REQUIRE(object.is_object() && object.contains("tokens"), path, ":", line, ": found '", shortened(text),
             "', expected a JSON object with a key 'tokens'");
  return read_number(object["tokens"].dump(), path, line);
}

std::vector<int64_t> read_objects(std::istringstream& in, const std::string& path) {
  std::vector<int64_t> lengths;
  std::string text;
  for (int64_t line = 1; std::getline(in, text); ++line) {
    if (!text.empty() && text.back() == '\r') text.pop_back();
    if (text.empty() && in.peek() == std::char_traits<char>::eof()) break;
    lengths.push_back(read_object(text, path, line));
  }
  return lengths;
}

}  // namespace

std::vector<int64_t> read_length_file(const std::string& path) {
  std::string content = read_file(path);
  if (content.starts_with("\xef\xbb\xbf"))
    content.erase(0, 3);  // the mark that spreadsheets put before UTF-8
  std::istringstream in(content);
  if (content.starts_with("{")) return read_objects(in, path);
  std::vector<int64_t> lengths;
  size_t column = 0, num_columns = 1;
  std::string text;
  for (int64_t line = 1; std::getline(in, text); ++line) {
    const std::vector<std::string> fields = split_line(text);
    if (line == 1 && !is_number(fields[0])) {
      const auto found = std::find(fields.begin(), fields.end(), "tokens");
      ZT_REQUIRE(
          found != fields.end(), path, ":1: found '", shortened(text),
          "', expected a number, a CSV header with a column 'tokens', or JSON lines with a key 'tokens'");
      column = size_t(found - fields.begin());
      num_columns = fields.size();
      continue;
    }
    if (fields.size() == 1 && fields[0].empty() && in.peek() == std::char_traits<char>::eof()) break;
    ZT_REQUIRE(fields.size() == num_columns, path, ":", line, ": ", fields.size(), " columns, expected ",
               num_columns);
    lengths.push_back(read_number(fields[column], path, line));
  }
  ZT_REQUIRE(!lengths.empty(), path, ": no lengths in it, expected one number of tokens a line");
  return lengths;
}

}  // namespace zoetrope
