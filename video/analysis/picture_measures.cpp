#include "video/analysis/picture_measures.h"

#include <algorithm>
#include <vector>

namespace zoetrope {
namespace {

constexpr int64_t kBarLimit = 24;     // cropdetect's
constexpr int64_t kSampledRows = 64;  // of columns, and groups of lines
constexpr int64_t kWorkingSide = 256;
constexpr uint8_t kCombLevels = 12;

bool is_dark_row(const LumaPlane& plane, int64_t y) {
  const uint8_t* row = plane.row(y);
  int64_t sum = 0;
  for (int64_t x = 0; x < plane.width; ++x) sum += row[x];
  return sum <= kBarLimit * plane.width;
}

bool is_dark_column(const LumaPlane& plane, int64_t x, int64_t first, int64_t end) {
  const int64_t rows = end - first, used = std::min(rows, kSampledRows);
  int64_t sum = 0;
  for (int64_t i = 0; i < used; ++i) sum += plane.row(first + (2 * i + 1) * rows / (2 * used))[x];
  return sum <= kBarLimit * used;
}

/// Pixels of one line that stand out from both neighbours. All in bytes, so that the first loop vectorises.
int64_t count_combed(const uint8_t* above, const uint8_t* line, const uint8_t* below, int64_t width) {
  constexpr int64_t kBlock = 256;
  uint8_t flags[kBlock];
  int64_t count = 0;
  for (int64_t first = 0; first < width; first += kBlock) {
    const int64_t size = std::min(kBlock, width - first);
    for (int64_t i = 0; i < size; ++i) {
      const uint8_t a = above[first + i], b = below[first + i], x = line[first + i];
      const uint8_t lower = std::min(a, b), upper = std::max(a, b);
      const auto over = uint8_t(std::max(x, upper) - upper), under = uint8_t(lower - std::min(x, lower));
      const uint8_t stands_out = std::max(over, under) > kCombLevels ? 1 : 0;
      const uint8_t alike = uint8_t(upper - lower) < kCombLevels ? 1 : 0;
      flags[i] = stands_out & alike;
    }
    for (int64_t i = 0; i < size; ++i) count += flags[i];
  }
  return count;
}

}  // namespace

DarkBars find_bars(const LumaPlane& plane) {
  DarkBars bars;
  while (bars.top < plane.height && is_dark_row(plane, bars.top)) ++bars.top;
  if (bars.top == plane.height) return {};
  while (is_dark_row(plane, plane.height - 1 - bars.bottom)) ++bars.bottom;
  const int64_t end = plane.height - bars.bottom;
  while (bars.left < plane.width && is_dark_column(plane, bars.left, bars.top, end)) ++bars.left;
  if (bars.left == plane.width) return {};
  while (is_dark_column(plane, plane.width - 1 - bars.right, bars.top, end)) ++bars.right;
  return bars;
}

PictureRect inside(const LumaPlane& plane, const DarkBars& bars) {
  return {bars.left, bars.top, plane.width - bars.left - bars.right, plane.height - bars.top - bars.bottom};
}

double combed_share(const LumaPlane& plane) {
  const int64_t groups = std::min(kSampledRows, plane.height - 2);
  if (groups < 1) return 0;
  int64_t combed = 0;
  for (int64_t i = 0; i < groups; ++i) {
    const int64_t y = 1 + (2 * i + 1) * (plane.height - 2) / (2 * groups);
    combed += count_combed(plane.row(y - 1), plane.row(y), plane.row(y + 1), plane.width);
  }
  return double(combed) / double(groups * plane.width);
}

double sharpness_of(const LumaPlane& plane) {
  const double longer = double(std::max(plane.width, plane.height));
  const double scale = std::min(1.0, double(kWorkingSide) / longer);
  const int64_t columns = int64_t(double(plane.width) * scale + 0.5);
  const int64_t rows = int64_t(double(plane.height) * scale + 0.5);
  if (columns < 3 || rows < 3) return 0;
  std::vector<uint16_t> small(size_t(columns * rows));
  box_means(plane, {0, 0, plane.width, plane.height}, columns, rows, small.data());
  int64_t sum = 0, squares = 0;
  for (int64_t y = 1; y + 1 < rows; ++y) {
    const uint16_t* line = small.data() + y * columns;
    for (int64_t x = 1; x + 1 < columns; ++x) {
      const int32_t laplacian =
          line[x - columns] + line[x + columns] + line[x - 1] + line[x + 1] - 4 * line[x];
      sum += laplacian;
      squares += int64_t(laplacian) * laplacian;
    }
  }
  const int64_t count = (rows - 2) * (columns - 2);
  // Variance x count^2: at most 65536^2 x (4 x 4080)^2 would not fit 64 bits, so by way of doubles.
  const double mean = double(sum) / double(count);
  return (double(squares) / double(count) - mean * mean) / (16.0 * 16.0);
}

}  // namespace zoetrope
