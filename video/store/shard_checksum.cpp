#include "video/store/shard_checksum.h"

#include <algorithm>
#include <cstring>

namespace zoetrope {
namespace {

constexpr size_t kLanes = 8, kStepBytes = 4 * kLanes;
// Second sums of a lane after n steps are at most 65535 n (n + 1) / 2: 256 steps stay below 2^32.
constexpr size_t kMostSteps = 256;

using Bytes = uint8_t __attribute__((vector_size(kStepBytes)));
using Sums = uint32_t __attribute__((vector_size(kStepBytes)));

/// Of each two words the first, or the second, from its two bytes; the rest are zeros.
Sums first_words(const Bytes& bytes) {
  return Sums(__builtin_shufflevector(bytes, Bytes{}, 1, 0, 32, 32, 5, 4, 32, 32, 9, 8, 32, 32, 13, 12, 32,
                                      32, 17, 16, 32, 32, 21, 20, 32, 32, 25, 24, 32, 32, 29, 28, 32, 32));
}
Sums second_words(const Bytes& bytes) {
  return Sums(__builtin_shufflevector(bytes, Bytes{}, 3, 2, 32, 32, 7, 6, 32, 32, 11, 10, 32, 32, 15, 14, 32,
                                      32, 19, 18, 32, 32, 23, 22, 32, 32, 27, 26, 32, 32, 31, 30, 32, 32));
}

/// The same modulo 65535, and zero for zero alone.
uint64_t reduced(uint64_t sum) { return sum == 0 ? 0 : (sum - 1) % 65535 + 1; }

/// Both sums so far.
struct Fletcher {
  uint64_t first = 0, second = 0;

  void add(uint64_t words, uint64_t sum, uint64_t weighted) {
    second = reduced(second + words * first + weighted);
    first = reduced(first + sum);
  }
};

void add_steps(Fletcher& total, const uint8_t* data, size_t steps) {
  Sums sum[2] = {}, running[2] = {};  // of first and of second words
  for (size_t j = 0; j < steps; ++j) {
    Bytes bytes;
    std::memcpy(&bytes, data + j * kStepBytes, kStepBytes);
    sum[0] += first_words(bytes);
    sum[1] += second_words(bytes);
    running[0] += sum[0];
    running[1] += sum[1];
  }
  uint64_t plain = 0, weighted = 0;
  for (size_t lane = 0; lane < kLanes; ++lane)
    for (size_t k = 0; k < 2; ++k) {
      plain += sum[k][lane];
      // Word 16 j + at of 16 n counts 16 (n - j) - at times.
      const size_t at = 2 * lane + k;
      weighted += 2 * kLanes * uint64_t(running[k][lane]) - at * uint64_t(sum[k][lane]);
    }
  total.add(steps * 2 * kLanes, plain, weighted);
}

}  // namespace

uint32_t fletcher32(const uint8_t* data, size_t size) {
  Fletcher total;
  while (size >= kStepBytes) {
    const size_t steps = std::min(size / kStepBytes, kMostSteps);
    add_steps(total, data, steps);
    data += steps * kStepBytes;
    size -= steps * kStepBytes;
  }
  for (; size > 0; data += 2, size -= std::min<size_t>(size, 2)) {
    const uint64_t word = uint64_t(data[0]) << 8 | (size > 1 ? data[1] : 0);
    total.add(1, word, word);
  }
  return uint32_t(total.second << 16 | total.first);
}

}  // namespace zoetrope
