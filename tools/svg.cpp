#include "tools/svg.h"

#include <algorithm>
#include <cmath>

#include "tools/text_format.h"

namespace zoetrope {

std::string escape_html(const std::string& text) {
  std::string out;
  for (char c : text) switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return out;
}

std::vector<double> round_ticks(double least, double most, int count) {
  if (!(most > least)) return {least};
  const double raw = (most - least) / count, power = std::pow(10.0, std::floor(std::log10(raw)));
  const double part = raw / power, step = (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10) * power;
  std::vector<double> ticks;
  for (int64_t i = int64_t(std::ceil(least / step - 1e-9)); double(i) * step <= most * (1 + 1e-9); ++i)
    ticks.push_back(double(i) * step);
  return ticks;
}

std::string time_label(double ns, double most_ns) {
  if (ns == 0) return "0";
  if (most_ns >= 2e9) return format_text("%.6g s", ns / 1e9);
  if (most_ns >= 2e6) return format_text("%.6g ms", ns / 1e6);
  return format_text("%.6g µs", ns / 1e3);
}

}  // namespace zoetrope
