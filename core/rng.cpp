#include "core/rng.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/box_muller.h"

namespace zoetrope {
namespace {

constexpr int kGroups = 16;        // channel groups at a time: 16 lanes of 32 bits fill an AVX-512 register
constexpr int kRun = 4 * kGroups;  // channels
using Lanes = std::array<float, kGroups>;
#ifdef __AVX512F__
constexpr int kBytes = 64;
#else
constexpr int kBytes = 32;  // gcc keeps vectors that are larger than a register in memory
#endif
constexpr int kLanes = kBytes / int(sizeof(uint32_t));
using U32 = uint32_t __attribute__((vector_size(kBytes)));
using U64 = uint64_t __attribute__((vector_size(kBytes)));
using Words = std::array<std::array<uint32_t, kGroups>, 4>;

/// Upper halves of the 64-bit products of every lane with `factor`: even lanes, then odd ones.
U32 multiply_high(U32 x, uint64_t factor) {
  const U64 pairs = std::bit_cast<U64>(x);
  const U64 even = ((pairs & 0xffffffffu) * factor) >> 32, odd = (pairs >> 32) * factor;
  return std::bit_cast<U32>(even | (odd & 0xffffffff00000000u));
}

/// `RandomKey::words` of kLanes groups from `first_group` + `at` on, lane by lane, into the words' places
/// from `at` on.
void fill_lanes(const RandomKey& key, int64_t first_group, int at, Words& words) {
  const uint64_t draw = uint64_t(key.draw);
  U32 iota;
  for (int i = 0; i < kLanes; ++i) iota[i] = uint32_t(i);
  U32 c0 = iota + (uint32_t(first_group) + uint32_t(at)), c1 = U32{} + uint32_t(key.token),
      c2 = U32{} + uint32_t(draw);
  U32 c3 = U32{} + (uint32_t(draw >> 32) ^ (uint32_t(key.purpose) << 8));
  uint32_t k0 = uint32_t(key.seed), k1 = uint32_t(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const U32 high0 = multiply_high(c0, 0xD2511F53u), high1 = multiply_high(c2, 0xCD9E8D57u);
    const U32 low0 = c0 * 0xD2511F53u, low1 = c2 * 0xCD9E8D57u;
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  std::memcpy(&words[0][size_t(at)], &c0, sizeof c0);
  std::memcpy(&words[1][size_t(at)], &c1, sizeof c1);
  std::memcpy(&words[2][size_t(at)], &c2, sizeof c2);
  std::memcpy(&words[3][size_t(at)], &c3, sizeof c3);
}

/// Normal numbers of channels [64 run, 64 run + 64).
void fill_run(const RandomKey& key, int64_t run, float* out) {
  Words words;
  for (int at = 0; at < kGroups; at += kLanes) fill_lanes(key, run * kGroups, at, words);
  std::array<Lanes, 4> z;
  for (size_t pair = 0; pair < 4; pair += 2)
    for (size_t i = 0; i < kGroups; ++i) {
      const float radius = std::sqrt(-2.0f * natural_log(to_uniform(words[pair][i])));
      float cosine, sine;
      cos_sin_turn(to_uniform(words[pair + 1][i]), cosine, sine);
      z[pair][i] = radius * cosine;
      z[pair + 1][i] = radius * sine;
    }
  for (size_t i = 0; i < kGroups; ++i)
    for (size_t j = 0; j < 4; ++j) out[4 * i + j] = z[j][i];
}

}  // namespace

void fill_normal(const RandomKey& key, float* out, int64_t count) {
  const int64_t whole = count / kRun;
  for (int64_t run = 0; run < whole; ++run) fill_run(key, run, out + run * kRun);
  if (count % kRun == 0) return;
  float last[kRun];
  fill_run(key, whole, last);
  std::memcpy(out + whole * kRun, last, size_t(count % kRun) * sizeof(float));
}

float normal(const RandomKey& key, int64_t channel) {
  float run[kRun];
  fill_run(key, channel / kRun, run);
  return run[channel % kRun];
}

}  // namespace zoetrope
