#include "core/shallow_json.h"

#include "core/check.h"

namespace zoetrope {

void require_shallow_json(std::string_view text, const std::string& where) {
  constexpr int kDeepest = 64;  // ours have five levels
  int depth = 0;
  bool in_text = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_text) {
      if (c == '\\') ++at;
      else in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      ZT_REQUIRE(++depth <= kDeepest, where, ": JSON nested more than ", kDeepest, " levels deep");
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

}  // namespace zoetrope
