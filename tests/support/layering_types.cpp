#include <regex>

#include "tests/support/layering.h"

namespace zoetrope::layering {

std::vector<std::string> defined_types(const std::string& text) {
  static const std::regex opens(R"(^(?:inline )?namespace\s*([\w:]*)\s*\{[^}]*$)"),
      closes(R"(^\}  // namespace.*)");
  static const std::regex defines(
      R"(^(?:struct|class|enum class|enum|union)\s+(?:alignas\([\w:]+\)\s+)?(\w+)(?: final)?\s*(?::[^:]|\{).*)");
  std::vector<std::string> names, spaces;
  std::smatch match;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (std::regex_match(line, closes)) {
      if (!spaces.empty()) spaces.pop_back();
    } else if (std::regex_match(line, match, opens)) {
      spaces.push_back(match[1]);
    } else if (std::regex_match(line, match, defines)) {
      std::string name;
      bool named = true;
      for (const std::string& space : spaces) name += space + "::", named = named && !space.empty();
      if (named) names.push_back(name + match[1].str());
    }
  }
  return names;
}

}  // namespace zoetrope::layering
