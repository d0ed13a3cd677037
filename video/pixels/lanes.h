// Sixteen 16-bit integers at a time, for video/pixels/band: the same results on every machine. `PlainLanes`
// says what each step is, `Avx2Lanes` does the same with AVX2.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace zoetrope::pixels {

/// Places of rows in two vectors of 32-bit sums, so that narrowing them puts the rows in order.
constexpr std::array<int, 16> kRowOrder = {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15};

/// Plain loops.
struct PlainLanes {
  static constexpr bool kUnrolled = false;  ///< sums of few pairs are compiled for their number
  struct Wide {
    int32_t lane[16];  ///< in kRowOrder
  };
  struct Narrow {
    int16_t lane[16];
  };
  struct Pairs {
    int16_t lane[16][2];  ///< in kRowOrder
  };

  /// Sixteen samples from memory.
  static Narrow load(const int16_t* from) {
    Narrow out;
    std::memcpy(out.lane, from, sizeof out);
    return out;
  }
  /// The same from bytes.
  static Narrow load_bytes(const uint8_t* from) {
    Narrow out;
    for (int i = 0; i < 16; ++i) out.lane[i] = from[i];
    return out;
  }
  /// The same from words, moved right.
  static Narrow load_words(const uint8_t* from, int shift) {
    Narrow out;
    for (int i = 0; i < 16; ++i) {
      uint16_t value;
      std::memcpy(&value, from + 2 * i, 2);
      out.lane[i] = int16_t(value >> shift);
    }
    return out;
  }
  /// Samples of two rows side by side.
  static Pairs zip(const Narrow& a, const Narrow& b) {
    Pairs out;
    for (int i = 0; i < 16; ++i) {
      out.lane[i][0] = a.lane[kRowOrder[size_t(i)]];
      out.lane[i][1] = b.lane[kRowOrder[size_t(i)]];
    }
    return out;
  }
  static void store(Pairs* to, const Pairs& pairs) { *to = pairs; }
  static Wide splat(int32_t value) {
    Wide out;
    for (int32_t& lane : out.lane) lane = value;
    return out;
  }
  /// Adds both products of each pair with the two weights in `weights`.
  static void multiply_add(Wide& sum, const Pairs& pairs, int32_t weights) {
    const int16_t low = int16_t(weights & 0xffff), high = int16_t(weights >> 16);
    for (int i = 0; i < 16; ++i) sum.lane[i] += pairs.lane[i][0] * low + pairs.lane[i][1] * high;
  }
  /// Sums moved right, in the order of rows, held within 16 bits.
  static Narrow narrow(const Wide& sum, int shift) {
    Narrow out;
    for (int i = 0; i < 16; ++i) {
      const int32_t value = sum.lane[i] >> shift;
      out.lane[kRowOrder[size_t(i)]] = int16_t(value > 32767 ? 32767 : value < -32768 ? -32768 : value);
    }
    return out;
  }
  static void store_rows(int32_t* to, const Wide& sum) {
    for (int i = 0; i < 16; ++i) to[kRowOrder[size_t(i)]] = sum.lane[i];
  }
  /// From sixteen rows of sixteen columns to eight pairs of columns.
  static void transpose(const Narrow* rows, Pairs* to) {
    for (int pair = 0; pair < 8; ++pair)
      for (int i = 0; i < 16; ++i)
        for (int half = 0; half < 2; ++half)
          to[pair].lane[i][half] = rows[kRowOrder[size_t(i)]].lane[2 * pair + half];
  }
  /// a * factor / 2^15, rounded.
  static Narrow scale(const Narrow& a, int16_t factor) {
    Narrow out;
    for (int i = 0; i < 16; ++i) out.lane[i] = int16_t((a.lane[i] * factor + (1 << 14)) >> 15);
    return out;
  }
  static Narrow add(const Narrow& a, const Narrow& b) {
    Narrow out;
    for (int i = 0; i < 16; ++i) out.lane[i] = int16_t(a.lane[i] + b.lane[i]);
    return out;
  }
  static Narrow splat16(int16_t value) {
    Narrow out;
    for (int16_t& lane : out.lane) lane = value;
    return out;
  }
  /// Pixels R, G, B, 0 of sixteen rows, from sixteenths of a level; 0 to 255.
  struct Pixels {
    uint8_t row[16][4];
  };
  /// One of them.
  static uint8_t level(int16_t sixteenths) {
    const int value = sixteenths >> 4;
    return uint8_t(value < 0 ? 0 : value > 255 ? 255 : value);
  }
  /// Sixteen of them.
  static Pixels pixels(const Narrow& r, const Narrow& g, const Narrow& b) {
    Pixels out;
    for (int i = 0; i < 16; ++i) {
      out.row[i][0] = level(r.lane[i]), out.row[i][1] = level(g.lane[i]), out.row[i][2] = level(b.lane[i]);
      out.row[i][3] = 0;
    }
    return out;
  }
  /// Rows of `columns` pixels from columns of sixteen; at most 8.
  static void store_rows(const Pixels* column, int columns, int rows, uint8_t* to, ptrdiff_t line) {
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < columns; ++x) std::memcpy(to + y * line + 3 * x, column[x].row[y], 3);
  }
  /// Two patches, one below the other, of 8 columns of sixteen; `lower` null: the upper one alone.
  static void store_patches(const Pixels* column, uint8_t* upper, uint8_t* lower, ptrdiff_t channel) {
    store_patch(column, 0, upper, channel);
    if (lower != nullptr) store_patch(column, 8, lower, channel);
  }
  /// Rows [first, first + 8) of 8 columns.
  static void store_patch(const Pixels* column, int first, uint8_t* to, ptrdiff_t channel) {
    for (int c = 0; c < 3; ++c)
      for (int y = 0; y < 8; ++y)
        for (int x = 0; x < 8; ++x) to[c * channel + y * 8 + x] = column[x].row[first + y][c];
  }
  /// The same turned: a column becomes a row.
  static void store_columns(const Pixels* column, int columns, int rows, uint8_t* to, ptrdiff_t line) {
    for (int x = 0; x < columns; ++x)
      for (int y = 0; y < rows; ++y) std::memcpy(to + x * line + 3 * y, column[x].row[y], 3);
  }
};

}  // namespace zoetrope::pixels
