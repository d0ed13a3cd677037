// Small charts that stand side by side: a histogram of values, bars of categories. 360 units wide, so that
// their text has its size on a phone too.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace zoetrope {

/// Values in classes of equal width, or of equal ratio where they spread over orders of magnitude.
struct ValueClasses {
  std::vector<double> edges;  ///< class i: [edges[i], edges[i + 1]), the last one with its end
  std::vector<int64_t> counts;
  bool logarithmic = false;
};
/// About twenty classes with round edges. `whole`: values are whole numbers, and so are the edges.
ValueClasses classify(const std::vector<double>& values, bool whole);

/// A histogram with a tooltip per bar; `unit` follows numbers ("s"), `what` is counted ("clips").
std::string small_histogram_svg(const std::vector<double>& values, bool whole, const std::string& unit,
                                const std::string& what);
/// "least 1 s, median 2.5 s, most 9 s".
std::string spread_text(std::vector<double> values, const std::string& unit);

/// Names and how many, most first; what goes beyond `most` is one bar "others".
std::vector<std::pair<std::string, int64_t>> most_common(const std::vector<std::string>& names, size_t most);
/// A line of text and a bar for each.
std::string category_bars_svg(const std::vector<std::pair<std::string, int64_t>>& bars,
                              const std::string& what);

}  // namespace zoetrope
