#include "tests/support/process.h"

namespace zoetrope::testing_support {

std::string printed_json(const Finished& finished) {
  const std::string& text = finished.output;
  for (size_t line = 0; line < text.size(); line = text.find('\n', line) + 1) {
    if (text[line] == '{' || text[line] == '[') return text.substr(line);
    if (text.find('\n', line) == std::string::npos) break;
  }
  return text;  // what the parser then complains about
}

}  // namespace zoetrope::testing_support
