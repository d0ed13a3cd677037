#include "video/pixels/tone_map.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace zoetrope::pixels {
namespace {

constexpr int kSteps = 4096;  // linear interpolation of PQ is then right to 5e-6 of its light

// SMPTE ST 2084.
constexpr double kM1 = 2610.0 / 16384, kM2 = 2523.0 / 4096 * 128, kC1 = 3424.0 / 4096,
                 kC2 = 2413.0 / 4096 * 32, kC3 = 2392.0 / 4096 * 32;

double pq_nits(double signal) {
  const double p = std::pow(signal, 1 / kM2);
  return 10000 * std::pow(std::max(p - kC1, 0.0) / (kC2 - kC3 * p), 1 / kM1);
}

double pq_signal(double nits) {
  const double y = std::pow(nits / 10000, kM1);
  return std::pow((kC1 + kC2 * y) / (1 + kC3 * y), kM2);
}

/// ARIB STD-B67: scene light 0 to 1.
double hlg_light(double signal) {
  constexpr double kA = 0.17883277, kB = 0.28466892, kC = 0.55991073;
  return signal <= 0.5 ? signal * signal / 3 : (std::exp((signal - kC) / kA) + kB) / 12;
}

/// Nits after the curve of BT.2390.
double compressed_nits(double nits) {
  const double peak = pq_signal(kSourcePeakNits), most = pq_signal(kWhiteNits) / peak;
  const double e = pq_signal(nits) / peak, knee = 1.5 * most - 0.5;
  if (e <= knee) return nits;
  const double t = (e - knee) / (1 - knee), t2 = t * t, t3 = t2 * t;
  const double p = (2 * t3 - 3 * t2 + 1) * knee + (t3 - 2 * t2 + t) * (1 - knee) + (-2 * t3 + 3 * t2) * most;
  return pq_nits(p * peak);
}

double light_of(HdrTransfer transfer, double signal) {
  return transfer == HdrTransfer::kHlg ? hlg_light(signal) : std::min(pq_nits(signal) / kSourcePeakNits, 1.0);
}

float fourth_root(float x) { return std::sqrt(std::sqrt(x)); }

// Luminance of BT.2020, and BT.2020 to BT.709 in linear light (BT.2087).
constexpr float kLuma[3] = {0.2627f, 0.6780f, 0.0593f};
constexpr float kTo709[3][3] = {{1.660491f, -0.587641f, -0.072850f},
                                {-0.124550f, 1.132900f, -0.008349f},
                                {-0.018151f, -0.100579f, 1.118730f}};

}  // namespace

template <class F>
ToneMap::Table::Table(int steps, F&& f) : values_(size_t(steps) + 2) {
  for (int i = 0; i <= steps; ++i) values_[size_t(i)] = float(f(double(i) / steps));
  values_.back() = values_[size_t(steps)];
}

float ToneMap::Table::at(float x) const {
  const float place = std::min(std::max(x, 0.0f), 1.0f) * float(values_.size() - 2);
  const int i = int(place);
  const float rest = place - float(i);
  return values_[size_t(i)] + rest * (values_[size_t(i) + 1] - values_[size_t(i)]);
}

ToneMap::ToneMap(HdrTransfer transfer)
    : hlg_(transfer == HdrTransfer::kHlg),
      light_(kSteps, [&](double x) { return light_of(transfer, x); }),
      system_(kSteps, [](double x) { return std::pow(x, 4 * 0.2); }),
      factor_(kSteps,
              [](double x) {
                const double nits = x * kSourcePeakNits;
                return nits == 0 ? kSourcePeakNits / kWhiteNits
                                 : compressed_nits(nits) / nits * kSourcePeakNits / kWhiteNits;
              }),
      display_(kSteps, [](double x) { return 255 * std::pow(x, 4 / 2.4); }) {}

std::array<float, 3> ToneMap::map(std::array<float, 3> signal) const {
  for (float& each : signal) each = light_.at(each);
  if (hlg_) {
    const float luminance = kLuma[0] * signal[0] + kLuma[1] * signal[1] + kLuma[2] * signal[2];
    const float system = system_.at(fourth_root(luminance));
    for (float& each : signal) each = each * system;
  }
  const float factor = factor_.at(std::max(signal[0], std::max(signal[1], signal[2])));
  std::array<float, 3> out;
  for (size_t c = 0; c < 3; ++c) {
    const float light = kTo709[c][0] * signal[0] + kTo709[c][1] * signal[1] + kTo709[c][2] * signal[2];
    out[c] = display_.at(fourth_root(std::min(std::max(light * factor, 0.0f), 1.0f)));
  }
  return out;
}

const ToneMap& tone_map_of(HdrTransfer transfer) {
  ZT_CHECK(transfer != HdrTransfer::kNone, "no tone map for ordinary transfers");
  static const ToneMap pq(HdrTransfer::kPq), hlg(HdrTransfer::kHlg);
  return transfer == HdrTransfer::kPq ? pq : hlg;
}

}  // namespace zoetrope::pixels
