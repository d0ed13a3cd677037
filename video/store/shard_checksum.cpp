#include "video/store/shard_checksum.h"

#include <algorithm>
#include <cstring>

namespace zoetrope {
namespace {

constexpr size_t kLanes = 16, kStepBytes = 2 * kLanes;
// Second sums of a lane after n steps are at most 65535 n (n + 1) / 2: 256 steps stay below 2^32.
constexpr size_t kMostSteps = 256;

using Words = uint16_t __attribute__((vector_size(kStepBytes)));
using Sums = uint32_t __attribute__((vector_size(2 * kStepBytes)));

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
  Sums sum{}, running{};
  for (size_t j = 0; j < steps; ++j) {
    Words words;
    std::memcpy(&words, data + j * kStepBytes, kStepBytes);
    sum += __builtin_convertvector((words << 8) | (words >> 8), Sums);
    running += sum;
  }
  uint64_t plain = 0, weighted = 0;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    plain += sum[lane];
    // Word 16 j + lane of 16 n counts 16 (n - j) - lane times.
    weighted += kLanes * uint64_t(running[lane]) - lane * uint64_t(sum[lane]);
  }
  total.add(steps * kLanes, plain, weighted);
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
