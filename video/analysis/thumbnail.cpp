#include "video/analysis/thumbnail.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace zoetrope {
namespace {

constexpr int64_t kRowsPerBox = 8;  // rows of a tall box that are read; 8 x 255 fits 16 bits many times
constexpr int64_t kWhite = 16 * 255;
constexpr double kSixteenths = 16;
constexpr double kDarkShare = 0.10;  // blackdetect's pixel threshold

/// First pixel of box i of `boxes`, and one past its last.
struct BoxEdges {
  int64_t begin, end;
};
BoxEdges box_edges(int64_t i, int64_t boxes, int64_t size) {
  const int64_t begin = std::min(i * size / boxes, size - 1);
  return {begin, std::max(begin + 1, (i + 1) * size / boxes)};
}

/// Adds rows to the sums, four at a time: sums are read and stored less often.
void add_rows(const uint8_t* const* rows, int64_t count, int64_t width, uint16_t* sums) {
  for (; count >= 4; count -= 4, rows += 4)
    for (int64_t x = 0; x < width; ++x)
      sums[x] = uint16_t(sums[x] + rows[0][x] + rows[1][x] + rows[2][x] + rows[3][x]);
  for (; count > 0; --count, ++rows)
    for (int64_t x = 0; x < width; ++x) sums[x] = uint16_t(sums[x] + rows[0][x]);
}

}  // namespace

void box_means(const LumaPlane& plane, const PictureRect& part, int64_t columns, int64_t rows,
               uint16_t* means) {
  thread_local std::vector<uint16_t> sums;
  sums.resize(size_t(part.width));
  const int64_t range = plane.white - plane.black;
  for (int64_t i = 0; i < rows; ++i) {
    const BoxEdges tall = box_edges(i, rows, part.height);
    const int64_t available = tall.end - tall.begin, used = std::min(available, kRowsPerBox);
    int64_t scale = 0, scaled_count = 0;  // integers: the same on every processor
    std::fill(sums.begin(), sums.end(), uint16_t(0));
    const uint8_t* read[kRowsPerBox];
    for (int64_t r = 0; r < used; ++r)
      read[r] = plane.row(part.y + tall.begin + (2 * r + 1) * available / (2 * used)) + part.x;
    add_rows(read, used, part.width, sums.data());
    for (int64_t j = 0; j < columns; ++j) {
      const BoxEdges wide = box_edges(j, columns, part.width);
      int32_t sum = 0;
      for (int64_t x = wide.begin; x < wide.end; ++x) sum += sums[size_t(x)];
      const int64_t count = used * (wide.end - wide.begin);
      if (count != scaled_count) scale = (kWhite << 32) / (count * range);
      scaled_count = count;
      const int64_t level = ((sum - plane.black * count) * scale + (int64_t(1) << 31)) >> 32;
      means[i * columns + j] = uint16_t(std::clamp<int64_t>(level, 0, kWhite));
    }
  }
}

Thumbnail make_thumbnail(const LumaPlane& plane, const PictureRect& part) {
  Thumbnail out;
  box_means(plane, part, kThumbnailSide, kThumbnailSide, out.pixels.data());
  return out;
}

Brightness brightness_of(const Thumbnail& thumbnail) {
  constexpr auto kDark = uint16_t(kDarkShare * 255 * kSixteenths);
  uint64_t sum = 0, squares = 0, dark = 0;
  for (const uint16_t pixel : thumbnail.pixels) {
    sum += pixel;
    squares += uint64_t(pixel) * pixel;
    dark += pixel < kDark;
  }
  const uint64_t count = thumbnail.pixels.size();
  const uint64_t spread = count * squares - sum * sum;  // variance x count^2, exact
  return {double(sum) / (kSixteenths * double(count)),
          std::sqrt(double(spread)) / (kSixteenths * double(count)), double(dark) / double(count)};
}

double difference_of(const Thumbnail& a, const Thumbnail& b) {
  uint32_t sum = 0;  // 4096 x 16 x 255 fits
  for (size_t i = 0; i < a.pixels.size(); ++i)
    sum += uint32_t(std::max(a.pixels[i], b.pixels[i]) - std::min(a.pixels[i], b.pixels[i]));
  return double(sum) / (kSixteenths * double(a.pixels.size()));
}

}  // namespace zoetrope
