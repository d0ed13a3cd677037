// printf into a string, for tables and pages.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace zoetrope {

/// The text that printf would print.
template <class... Values>
std::string format_text(const char* pattern, Values... values) {
  std::string text(size_t(std::snprintf(nullptr, 0, pattern, values...)) + 1, '\0');
  std::snprintf(text.data(), text.size(), pattern, values...);
  text.pop_back();
  return text;
}

/// The beginning of a text that may be a whole file, for messages.
inline std::string shortened(const std::string& text) {
  constexpr size_t kMost = 60;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

/// A share as "12.3 %".
inline std::string percent(double share) { return format_text("%.1f %%", 100 * share); }

/// "1,234,567".
inline std::string with_commas(int64_t value) {
  std::string text = std::to_string(value);
  for (int64_t at = int64_t(text.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3) text.insert(size_t(at), ",");
  return text;
}

/// "312 bytes", "4.1 MB", "2.35 GB"; in the unit that suits `like`, if that is given.
inline std::string byte_text(int64_t bytes, int64_t like = -1) {
  const int64_t size = like < 0 ? bytes : like;
  if (size < 1000) return with_commas(bytes) + (like < 0 ? " bytes" : "");
  const int power = size < 1'000'000 ? 0 : size < 1'000'000'000 ? 1 : size < 1'000'000'000'000 ? 2 : 3;
  constexpr double kUnits[] = {1e3, 1e6, 1e9, 1e12};
  constexpr const char* kNames[] = {" kB", " MB", " GB", " TB"};
  return format_text("%.*f", power < 2 ? 1 : 2, double(bytes) / kUnits[power]) +
         (like < 0 ? kNames[power] : "");
}

}  // namespace zoetrope
