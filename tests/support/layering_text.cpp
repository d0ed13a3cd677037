#include <algorithm>
#include <regex>

#include "tests/support/layering.h"

namespace zoetrope::layering {
namespace {

/// End of a raw string literal that starts at `at` with R"tag( ; npos when there is none.
size_t raw_string_end(const std::string& text, size_t at) {
  if (text.compare(at, 2, "R\"") != 0) return std::string::npos;
  const size_t open = text.find('(', at);
  if (open == std::string::npos) return std::string::npos;
  const std::string close = ")" + text.substr(at + 2, open - at - 2) + "\"";
  const size_t end = text.find(close, open);
  return end == std::string::npos ? text.size() : end + close.size();
}

/// End of the comment or literal that starts at `at`, or `at` when none does.
size_t blank_end(const std::string& text, size_t at) {
  if (text.compare(at, 2, "//") == 0) return std::min(text.find('\n', at), text.size());
  if (text.compare(at, 2, "/*") == 0) {
    const size_t end = text.find("*/", at + 2);
    return end == std::string::npos ? text.size() : end + 2;
  }
  const size_t raw = raw_string_end(text, at);
  if (raw != std::string::npos) return raw;
  const char quote = text[at];
  const bool separator = quote == '\'' && at > 0 && std::isalnum(uint8_t(text[at - 1]));  // 1'000
  if ((quote != '"' && quote != '\'') || separator) return at;
  size_t end = at + 1;
  while (end < text.size() && text[end] != quote && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

/// Blanks preprocessor lines with their continuations.
void blank_directives(std::string& code) {
  for (size_t at = 0; at < code.size();) {
    size_t end = std::min(code.find('\n', at), code.size());
    const size_t first = code.find_first_not_of(' ', at);
    if (first != std::string::npos && code[first] == '#') {
      while (end < code.size() && code[end - 1] == '\\')
        end = std::min(code.find('\n', end + 1), code.size());
      for (size_t i = at; i < end; ++i)
        if (code[i] != '\n') code[i] = ' ';
    }
    at = end + 1;
  }
}

/// What a '{' opens, from the text between the last ';', '{' or '}' and it.
enum class Block { kScope, kFunction, kOther };
Block block_of(const std::string& before) {
  static const std::regex scope(
      R"(^(inline\s+)?(namespace|extern)\b|(^|[\s>])(class|struct|union|enum)\s+[^()=]*$)");
  static const std::regex control(R"(^(if|for|while|switch|do|else|try|catch)\b)");
  const std::string text = trimmed(before);
  if (std::regex_search(text, scope)) return Block::kScope;
  if (text.find('(') == std::string::npos || text.ends_with("=") || std::regex_search(text, control))
    return Block::kOther;
  return Block::kFunction;
}

}  // namespace

std::string blank_comments_and_literals(const std::string& text) {
  std::string out = text;
  for (size_t at = 0; at < text.size();) {
    const size_t end = blank_end(text, at);
    for (size_t i = at; i < end; ++i)
      if (out[i] != '\n') out[i] = ' ';
    at = std::max(end, at + 1);
  }
  return out;
}

std::vector<FunctionSpan> find_functions(const std::string& text) {
  std::string code = blank_comments_and_literals(text);
  blank_directives(code);
  static const std::regex access("public|private|protected");
  std::vector<FunctionSpan> functions;
  std::vector<Block> open;
  int64_t line = 1, depth_in_function = 0, statement_line = 0;
  std::string statement;
  for (char c : code) {
    if (c == '\n') ++line;
    if (depth_in_function > 0) {
      depth_in_function += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (depth_in_function == 0) functions.back().last_line = line;
      continue;
    }
    if (c == '{') {
      const Block block = block_of(statement);
      if (block == Block::kScope) open.push_back(block);
      else depth_in_function = 1;
      if (block == Block::kFunction) functions.push_back({trimmed(statement), statement_line, line});
      if (block == Block::kOther) functions.push_back({"", statement_line, line});
    }
    if (c == '}' && !open.empty()) open.pop_back();
    const bool label = c == ':' && std::regex_match(trimmed(statement), access);
    if (c == ';' || c == '{' || c == '}' || label) {
      statement.clear();
      statement_line = 0;
      continue;
    }
    if (statement_line == 0 && !std::isspace(uint8_t(c))) statement_line = line;
    statement += c;
  }
  std::erase_if(functions, [](const FunctionSpan& span) { return span.signature.empty(); });
  return functions;
}

}  // namespace zoetrope::layering
