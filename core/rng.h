// Counter-based random numbers (Philox 4x32-10): a number depends on its key alone, so the plan, the rank
// layout and the order of evaluation can't change it. What is constexpr runs in CUDA kernels too.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace zoetrope {

/// What a random number is for; part of its key. Layer dropout adds the block to `kLayerDropout`.
enum class Purpose : uint32_t {
  kNoise = 1,
  kTimestep = 2,
  kCaptionDropout = 3,
  kHeldOut = 4,
  kSampling = 5,
  kInitialisation = 6,
  kOrder = 7,
  kText = 8,
  kTrace = 9,
  kLayerDropout = 1024
};

/// Four random words for a counter and a key. Source: Salmon et al., SC'11, Philox-4x32-10.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t(0xD2511F53u) * c[0], p1 = uint64_t(0xCD9E8D57u) * c[2];
    c = {uint32_t(p1 >> 32) ^ c[1] ^ k[0], uint32_t(p1), uint32_t(p0 >> 32) ^ c[3] ^ k[1], uint32_t(p0)};
    k = {k[0] + 0x9E3779B9u, k[1] + 0xBB67AE85u};
  }
  return c;
}

/// The project's key: (seed, purpose, draw, token, channel). Four consecutive channels share one call.
struct RandomKey {
  uint64_t seed = 0;
  Purpose purpose = Purpose::kNoise;
  int64_t draw = 0;
  int64_t token = 0;

  /// Four random words of a group of channels.
  constexpr std::array<uint32_t, 4> words(int64_t channel_group) const {
    const uint64_t d = uint64_t(draw);
    return philox(
        {uint32_t(channel_group), uint32_t(token), uint32_t(d), uint32_t(d >> 32) ^ (uint32_t(purpose) << 8)},
        {uint32_t(seed), uint32_t(seed >> 32)});
  }
};

/// Uniform in (0, 1), never 0 or 1, from one random word: 23 bits and a half, exact in a float.
constexpr float to_uniform(uint32_t word) { return (float(word >> 9) + 0.5f) * 0x1p-23f; }

/// Uniform number for one (key, channel).
inline float uniform(const RandomKey& key, int64_t channel = 0) {
  return to_uniform(key.words(channel / 4)[size_t(channel % 4)]);
}

/// Standard normal numbers for channels [0, count) of one token (Box-Muller on pairs of words). Always
/// computed in aligned runs of 64 channels by the same vectorised code, so that a number never depends on
/// `count`.
void fill_normal(const RandomKey& key, float* out, int64_t count);

/// Standard normal number for one (key, channel); equals the element `channel` of `fill_normal`.
float normal(const RandomKey& key, int64_t channel = 0);

}  // namespace zoetrope
