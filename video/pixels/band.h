// The inner loops of the conversion: sixteen output rows at a time, each plane is resampled down its columns
// and along its rows, and mixed to colours while all of it is in the processor's caches. `Lanes` is one of
// video/pixels/lanes.h. Used by video/pixels/picture_job alone.
#pragma once

#include <algorithm>
#include <vector>

#include "video/pixels/lanes.h"
#include "video/pixels/pair_sums.h"
#include "video/pixels/picture_job.h"
#include "video/pixels/plane_samples.h"

namespace zoetrope::pixels {

constexpr int kBandRows = 16;

/// Converts one picture; `Finish` turns the three sums of a place into pixels.
template <class Lanes, class Finish>
class BandConverter {
 public:
  BandConverter(const PictureJob& job, const Finish& finish) : job_(job), finish_(finish) {}

  void run() {
    const int64_t rows = job_.rows[0]->count;
    for (int64_t first = 0; first < rows; first += kBandRows) {
      for (int p = 0; p < job_.num_planes; ++p) {
        resample_columns(p, first);
        with_pairs<Lanes>(job_.columns[p]->pairs, [&](auto pairs) { resample_rows<pairs()>(p); });
      }
      store_band(first, int(std::min<int64_t>(kBandRows, rows - first)));
    }
  }

 private:
  using Pairs = typename Lanes::Pairs;

  /// Down the columns: source rows to sixteen output rows, in pairs of columns.
  void resample_columns(int p, int64_t first) {
    const ResampleAxis &rows = *job_.rows[p], &columns = *job_.columns[p];
    int64_t row_of[kBandRows], begin = INT64_MAX, end = 0;
    for (int i = 0; i < kBandRows; ++i) {
      row_of[i] = std::min(first + i, rows.count - 1);
      const int64_t pair = rows.first_pair[size_t(row_of[i])];
      begin = std::min(begin, pair);
      end = std::max(end, pair + rows.pairs);
    }
    const int64_t width = (columns.pair_end - columns.pair_begin + 7) / 8 * 8;
    columns_[p].resize(size_t(width));
    strip_.resize(size_t(end - begin));
    lines_.resize(2 * strip_.size());
    const Plane& plane = job_.planes[size_t(p)];
    rows_per_band_ = kBandRows * plane.height / rows.count;
    for (size_t i = 0; i < lines_.size(); ++i)
      lines_[i] = plane.row(std::min(2 * begin + int64_t(i), plane.height - 1));
    with_pairs<Lanes>(rows.pairs, [&](auto pairs) {
      for (int64_t x = 0; x < width; x += 8) {
        load_strip(plane, 2 * (columns.pair_begin + x));
        resample_strip<pairs()>(p, row_of, begin, &columns_[p][size_t(x)]);
      }
    });
  }

  /// Sixteen columns of the band's source rows, two rows a pair.
  void load_strip(const Plane& plane, int64_t x) {
    const int64_t at = plane.wide ? 2 * x : x;
    // Strips go down the rows, which the processor does not foresee: the cache line after the next of each.
    if (at % 64 < 16 || plane.wide) {
      for (const uint8_t* line : lines_) __builtin_prefetch(line + at + 128);
      for (int64_t i = 1; i <= rows_per_band_; ++i)
        __builtin_prefetch(lines_.back() + i * plane.line + at, 0, 2);
    }
    const auto load = [&](auto&& samples) {
      for (size_t i = 0; i < strip_.size(); ++i)
        Lanes::store(&strip_[i], Lanes::zip(samples(lines_[2 * i]), samples(lines_[2 * i + 1])));
    };
    if (x + kStripColumns > plane.width)
      load([&](const uint8_t* line) { return load_last_samples<Lanes>(plane, line, x); });
    else if (plane.wide) load([&](const uint8_t* line) { return Lanes::load_words(line + at, plane.shift); });
    else load([&](const uint8_t* line) { return Lanes::load_bytes(line + at); });
  }

  template <int kPairs>
  void resample_strip(int p, const int64_t* row_of, int64_t begin, Pairs* to) {
    const ResampleAxis& rows = *job_.rows[p];
    const int bits = job_.planes[size_t(p)].bits;
    typename Lanes::Narrow out[kBandRows];
    for (int i = 0; i < kBandRows; ++i) {
      const size_t row = size_t(row_of[i]);
      out[i] = Lanes::narrow(
          sum_of_pairs<Lanes, kPairs>(&strip_[size_t(rows.first_pair[row] - begin)], 1,
                                      &rows.weights[row * size_t(rows.pairs)], rows.pairs, 1 << (bits - 1)),
          bits);
    }
    Lanes::transpose(out, to);
  }

  /// Along the rows, all sixteen at a time.
  template <int kPairs>
  void resample_rows(int p) {
    const ResampleAxis& columns = *job_.columns[p];
    sums_[p].resize(size_t(columns.count));
    for (size_t x = 0; x < size_t(columns.count); ++x)
      sums_[p][x].value = Finish::keep(sum_of_pairs<Lanes, kPairs>(
          &columns_[p][size_t(columns.first_pair[x] - columns.pair_begin)], 1,
          &columns.weights[x * size_t(columns.pairs)], columns.pairs, Finish::kStart));
  }

  void store_band(int64_t first, int rows) {
    const int64_t count = job_.columns[0]->count;
    const int u = job_.num_planes == 3 ? 1 : 0, v = job_.num_planes == 3 ? 2 : 0;
    typename Lanes::Pixels pixels[8] = {};
    for (int64_t x = 0; x < count; x += 8) {
      const int columns = int(std::min<int64_t>(8, count - x));
      for (int i = 0; i < columns; ++i) {
        const size_t at = size_t(x + i);
        pixels[i] = finish_(sums_[0][at].value, sums_[u][at].value, sums_[v][at].value);
      }
      if (job_.patches.first != nullptr) store_patches(pixels, first, x, rows);
      else if (job_.swap)
        Lanes::store_columns(pixels, columns, rows, job_.rgb + x * job_.line + 3 * first, job_.line);
      else Lanes::store_rows(pixels, columns, rows, job_.rgb + first * job_.line + 3 * x, job_.line);
    }
  }

  void store_patches(const typename Lanes::Pixels* pixels, int64_t first, int64_t x, int rows) {
    const PatchTarget& to = job_.patches;
    uint8_t* upper = to.first + first / kPatchSide * to.row + x / kPatchSide * to.patch;
    Lanes::store_patches(pixels, upper, rows > kPatchSide ? upper + to.row : nullptr, to.channel);
  }

  const PictureJob& job_;
  const Finish& finish_;
  std::vector<Pairs> strip_, columns_[3];  ///< of the strip at work; of the band
  int64_t rows_per_band_ = 0;
  std::vector<const uint8_t*> lines_;  ///< source rows of the band
  struct Kept {
    typename Finish::Sum value;
  };
  std::vector<Kept> sums_[3];
};

}  // namespace zoetrope::pixels
