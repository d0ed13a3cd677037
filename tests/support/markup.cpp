#include "tests/support/markup.h"

#include <cctype>
#include <regex>
#include <vector>

namespace zoetrope::testing_support {
namespace {

constexpr char kPicture[] = "data:image/jpeg;base64,";

/// End of the tag that begins at `begin`: quoted values may hold '>'.
size_t tag_end(const std::string& html, size_t begin) {
  char quote = 0;
  for (size_t i = begin; i < html.size(); ++i) {
    if (quote != 0) quote = html[i] == quote ? char(0) : quote;
    else if (html[i] == '"' || html[i] == '\'') quote = html[i];
    else if (html[i] == '>') return i;
  }
  return std::string::npos;
}

std::string entity_fault(const std::string& text) {
  static const std::regex entity("&(amp|lt|gt|quot|#39);.*");
  for (size_t at = text.find('&'); at != std::string::npos; at = text.find('&', at + 1))
    if (!std::regex_match(text.substr(at, 6), entity)) return "bare & in '" + text.substr(at, 40) + "'";
  return "";
}

std::string attribute_fault(const std::string& inside) {
  static const std::regex tag("[a-z][a-z0-9]*( [a-zA-Z][a-zA-Z-]*=\"[^\"<]*\")*/?");
  return std::regex_match(inside, tag) ? "" : "tag '" + inside.substr(0, 80) + "'";
}

/// The tag without the letters of an embedded picture, which are far too many for a regex.
std::string without_picture(const std::string& inside) {
  const size_t begin = inside.find(kPicture);
  if (begin == std::string::npos) return inside;
  size_t end = begin + sizeof kPicture - 1;
  while (end < inside.size() && (std::isalnum(uint8_t(inside[end])) != 0 || inside[end] == '+' ||
                                 inside[end] == '/' || inside[end] == '='))
    ++end;
  return inside.substr(0, begin) + inside.substr(end);
}

}  // namespace

std::string markup_fault(const std::string& html) {
  std::vector<std::string> open;
  size_t at = html.rfind("<!doctype html>\n", 0) == 0 ? 16 : 0;
  while (at < html.size()) {
    const size_t begin = html.find('<', at);
    const std::string text = html.substr(at, begin == std::string::npos ? begin : begin - at);
    if (open.empty() || open.back() != "style") {
      if (const std::string fault = entity_fault(text); !fault.empty()) return fault;
      if (text.find('>') != std::string::npos) return "bare > in '" + text.substr(0, 80) + "'";
    }
    if (begin == std::string::npos) break;
    const size_t end = tag_end(html, begin);
    if (end == std::string::npos) return "tag without end: '" + html.substr(begin, 80) + "'";
    const std::string inside = without_picture(html.substr(begin + 1, end - begin - 1));
    at = end + 1;
    if (inside.starts_with("/")) {
      if (open.empty() || open.back() != inside.substr(1))
        return "</" + inside.substr(1) + "> closes <" + (open.empty() ? "" : open.back()) + ">";
      open.pop_back();
      continue;
    }
    // Paths of many rectangles are long: the regex is only for the rest.
    const bool is_path = inside.starts_with("path class=\"") && inside.ends_with("z\"/");
    if (const std::string fault = is_path ? "" : attribute_fault(inside); !fault.empty()) return fault;
    if (!inside.ends_with("/")) open.push_back(inside.substr(0, inside.find(' ')));
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

std::string foreign_reference(const std::string& html) {
  for (const char* word :
       {"http:", "https:", "//cdn", " src=", "href=", "url(", "@import", "<link", "<script"})
    for (size_t at = html.find(word); at != std::string::npos; at = html.find(word, at + 1))
      if (html.compare(at, 6 + sizeof kPicture - 1, std::string(" src=\"") + kPicture) != 0)
        return html.substr(at, 60);
  return "";
}

}  // namespace zoetrope::testing_support
