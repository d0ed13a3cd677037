// Exact times: ratios of integers, read from decimal text and compared without rounding. What windows, rates
// and time bases are made of.
#pragma once

#include <cstdint>
#include <string>

namespace zoetrope {

/// A ratio of integers, denominator positive.
struct Ratio {
  int64_t num = 0, den = 1;
  double value() const { return double(num) / double(den); }
};

/// -1, 0 or 1 as a is less than, equal to or greater than b. Exact.
int compare(Ratio a, Ratio b);
inline bool operator==(Ratio a, Ratio b) { return compare(a, b) == 0; }
inline bool operator<(Ratio a, Ratio b) { return compare(a, b) < 0; }

/// The rate nearest to `fps` with a denominator of at most 1001: 29.97 is 2997/100, 23.976023976 is
/// 24000/1001.
Ratio ratio_of_fps(double fps);

/// Seconds as a table writes them: "12", "0.0667", "1.5e-1", exact up to nine decimals, the rest rounded to
/// the nearest of them. Throws: Error that names the text when it is no decimal number or beyond 1e9.
Ratio seconds_of_text(const std::string& text);

/// The decimal number that `seconds` was read from: its shortest text, to nine decimals. Beyond 1e9 it is
/// 1e9, some thirty years.
Ratio seconds_of_double(double seconds);

}  // namespace zoetrope
