// The two functions that turn uniform numbers into normal ones (Box-Muller), as polynomials: the same source
// on every backend. They are constexpr so that CUDA kernels can call them.
#pragma once

#include <bit>
#include <cstdint>

namespace zoetrope {

/// ln u for u in (0, 1): u = 2^e m, m in [sqrt(1/2), sqrt 2); polynomial in m - 1.
/// Source: Cephes logf (S. Moshier), relative error below 1e-7.
constexpr float natural_log(float u) {
  constexpr uint32_t kRootHalf = 0x3f3504f3u;  // bits of sqrt(1/2)
  const uint32_t bits = std::bit_cast<uint32_t>(u);
  const int32_t exponent = int32_t(bits - kRootHalf) >> 23;
  const float f = std::bit_cast<float>(bits - (uint32_t(exponent) << 23)) - 1.0f, e = float(exponent);
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  const float square = f * f;
  return f + (f * square * p + e * -2.12194440e-4f - 0.5f * square) + e * 0.693359375f;
}

/// cos and sin of 2 pi u for u in (0, 1): quarter turns, then polynomials on [-pi/4, pi/4] (Cephes sinf,
/// cosf).
constexpr void cos_sin_turn(float u, float& cosine, float& sine) {
  const int32_t quarter = int32_t(u * 4.0f + 0.5f);
  const float a = (u - 0.25f * float(quarter)) * 6.28318530717958648f, square = a * a;
  const float s =
      a + a * square * ((-1.9515295891e-4f * square + 8.3321608736e-3f) * square - 1.6666654611e-1f);
  const float c =
      1.0f - 0.5f * square +
      square * square *
          ((2.443315711809948e-5f * square - 1.388731625493765e-3f) * square + 4.166664568298827e-2f);
  const float x = quarter & 1 ? s : c, y = quarter & 1 ? c : s;
  cosine = (quarter + 1) & 2 ? -x : x;
  sine = quarter & 2 ? -y : y;
}

}  // namespace zoetrope
