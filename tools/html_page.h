// One self-contained page: style sheet for light and dark mode, nothing from elsewhere.
#pragma once

#include <string>
#include <vector>

namespace zoetrope {

/// A whole page around `body`, which is HTML; `title` is text.
std::string html_page(const std::string& title, const std::string& body);

/// A cell: text, or HTML as it is; numbers go to the right, long text may take several lines.
struct HtmlCell {
  std::string content;
  bool is_html = false, is_number = false, is_long = false;
};
/// A table of a heading and rows; `marked` is the row to emphasise, -1: none.
std::string html_table(const std::vector<std::string>& heading,
                       const std::vector<std::vector<HtmlCell>>& rows, int marked = -1);

/// A coloured square and what it stands for.
std::string html_key(const char* style, const std::string& what);

}  // namespace zoetrope
