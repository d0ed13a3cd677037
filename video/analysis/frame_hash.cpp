#include "video/analysis/frame_hash.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "core/check.h"

namespace zoetrope {
namespace {

constexpr int kBands = 16, kSide = int(kThumbnailSide);

/// Rows 1 to 16 of the 64-point DCT-II (the constant is left out), in 2048ths. All sums below are exact
/// integers, so that a hash is the same on every processor.
const std::array<int32_t, size_t(kBands* kSide)>& dct_rows() {
  static const auto rows = [] {
    std::array<int32_t, size_t(kBands * kSide)> out{};
    for (int i = 0; i < kBands; ++i)
      for (int j = 0; j < kSide; ++j)
        out[size_t(i * kSide + j)] =
            int32_t(std::lround(2048 * std::cos(std::numbers::pi / (2 * kSide) * (i + 1) * (2 * j + 1))));
    return out;
  }();
  return rows;
}

}  // namespace

FrameHash hash_of(const Thumbnail& thumbnail) {
  const auto& dct = dct_rows();
  int32_t half[kBands][kSide] = {};  // DCT down the columns: 64 x 4080 x 2048 fits
  for (int i = 0; i < kBands; ++i)
    for (int y = 0; y < kSide; ++y) {
      const int32_t weight = dct[size_t(i * kSide + y)];
      const uint16_t* row = thumbnail.pixels.data() + y * kSide;
      for (int x = 0; x < kSide; ++x) half[i][x] += weight * row[x];
    }
  std::array<double, size_t(kBands * kBands)> coefficients{};  // below 2^46: exact
  for (int i = 0; i < kBands; ++i)
    for (int j = 0; j < kBands; ++j) {
      double lanes[4] = {};
      for (int x = 0; x < kSide; x += 4)
        for (int k = 0; k < 4; ++k) lanes[k] += double(half[i][x + k]) * dct[size_t(j * kSide + x + k)];
      coefficients[size_t(i * kBands + j)] = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    }
  auto sorted = coefficients;
  const auto middle = sorted.begin() + sorted.size() / 2 - 1;
  std::nth_element(sorted.begin(), middle, sorted.end());
  FrameHash hash;
  for (size_t i = 0; i < coefficients.size(); ++i)
    if (coefficients[i] > *middle) hash.bits[i / 64] |= uint64_t(1) << (i % 64);
  return hash;
}

int hash_quality(const Thumbnail& thumbnail) {
  constexpr int kPerPoint = 90;  // of PDQ
  int64_t sum = 0;
  const auto add = [&](int a, int b) { sum += std::abs(a - b) * 100 / (16 * 255); };
  const auto& p = thumbnail.pixels;
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x + 1 < kSide; ++x) add(p[size_t(y * kSide + x)], p[size_t(y * kSide + x + 1)]);
  for (int y = 0; y + 1 < kSide; ++y)
    for (int x = 0; x < kSide; ++x) add(p[size_t(y * kSide + x)], p[size_t((y + 1) * kSide + x)]);
  return int(std::min<int64_t>(100, sum / kPerPoint));
}

int hamming_distance(const FrameHash& a, const FrameHash& b) {
  int bits = 0;
  for (size_t i = 0; i < a.bits.size(); ++i) bits += std::popcount(a.bits[i] ^ b.bits[i]);
  return bits;
}

std::string hash_text(const FrameHash& hash) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint64_t word : hash.bits)
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[word >> shift & 15];
  return text;
}

FrameHash hash_of_text(const std::string& text) {
  ZT_REQUIRE(text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos, "'", text,
             "' is no hash of a frame: expected 64 hexadecimal digits");
  FrameHash hash;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    hash.bits[i / 16] = hash.bits[i / 16] << 4 | uint64_t(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return hash;
}

}  // namespace zoetrope
