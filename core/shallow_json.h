// A check of JSON texts that others may have written, before they are parsed: copying, printing and comparing
// parsed JSON is recursive, so that a text of brackets alone would overflow the stack.
#pragma once

#include <string>
#include <string_view>

namespace zoetrope {

/// Throws: Error that starts with `where` when the text nests deeper than any that we read.
void require_shallow_json(std::string_view text, const std::string& where);

}  // namespace zoetrope
