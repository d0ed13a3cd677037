#include "video/media/ratio.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "core/check.h"

namespace zoetrope {
namespace {

__extension__ typedef __int128 Wide;

constexpr int64_t kNano = 1000000000;
constexpr int64_t kMaxSeconds = 1000000000;  // longer than any file; in nanoseconds below 2^63

}  // namespace

int compare(Ratio a, Ratio b) {
  const Wide left = Wide(a.num) * b.den, right = Wide(b.num) * a.den;
  return left < right ? -1 : left > right ? 1 : 0;
}

Ratio ratio_of_fps(double fps) {
  ZT_CHECK(std::isfinite(fps) && fps > 0 && fps <= 1e6, "frame rate ", fps);
  Ratio best{std::llround(fps), 1};
  for (int64_t den = 1; den <= 1001; ++den) {
    const int64_t num = std::llround(fps * double(den));
    if (num < 1) continue;
    const double error = std::abs(double(num) / double(den) - fps);
    if (best.num < 1 || error < std::abs(best.value() - fps) - 1e-12 * fps) best = {num, den};
  }
  ZT_CHECK(best.num >= 1, "frame rate ", fps, " is below one frame in 1001 seconds");
  return best;
}

Ratio seconds_of_text(const std::string& text) {
  // The digits around the point as an integer, and where the point stands in it.
  Wide digits = 0;
  int64_t decimals = 0;
  size_t at = 0, seen = 0;
  const bool negative = at < text.size() && text[at] == '-';
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  bool point = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' && !point) {
      point = true;
      continue;
    }
    if (text[at] < '0' || text[at] > '9') break;
    ++seen;
    // Thirty digits hold nine decimals of any number in range, and one to round by.
    if (digits < Wide(kNano) * kNano * kNano) {
      digits = digits * 10 + (text[at] - '0');
      decimals += point;
    } else {
      decimals -= !point;
    }
  }
  int64_t exponent = 0;
  bool good = seen > 0;
  if (good && at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const char* from = text.c_str() + at + 1;
    if (*from == '+') ++from;
    const auto [end, error] = std::from_chars(from, text.c_str() + text.size(), exponent);
    good = error == std::errc() && std::abs(exponent) <= 1000;
    at = size_t(end - text.c_str());
  }
  ZT_REQUIRE(good && at == text.size(), "'", text, "' is no decimal number of seconds, like 12.5");
  int64_t shift = 9 - decimals + exponent;  // digits * 10^shift nanoseconds
  const Wide limit = Wide(kMaxSeconds) * kNano;
  for (; shift > 0 && digits <= limit; --shift) digits *= 10;
  for (; shift < -1 && digits > 0; ++shift) digits /= 10;
  if (shift == -1) digits = (digits + 5) / 10;
  ZT_REQUIRE(digits <= limit, "'", text, "' seconds are more than ", kMaxSeconds);
  return {negative ? -int64_t(digits) : int64_t(digits), kNano};
}

Ratio seconds_of_double(double seconds) {
  if (!(std::abs(seconds) < double(kMaxSeconds))) return {seconds < 0 ? -kMaxSeconds : kMaxSeconds, 1};
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof text, seconds);
  ZT_CHECK(error == std::errc(), "seconds ", seconds);
  return seconds_of_text(std::string(text, end));
}

}  // namespace zoetrope
