// Every operator of the CPU backend but attention against plain loops in double.
#include "model/ops/ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/close.h"
#include "tests/support/op_tensors.h"

namespace zoetrope {
namespace {

using test::all_within;
using test::dot_bound;
using test::element;
using test::kUnitF32;
using test::make_weight;
using test::Output;
using test::random_matrix;
using test::random_vector;
using test::store_bound;

constexpr DType kTypes[] = {DType::kF32, DType::kBF16};
constexpr int64_t kSizes[] = {1, 2, 31, 33, 257};

struct Backend {
  explicit Backend(int threads = 2)
      : pool(threads),
        workspace(64 << 20, Device::kCpu, "test"),
        ops(make_ops(Device::kCpu, pool, workspace)) {}
  ThreadPool pool;
  Arena workspace;
  std::unique_ptr<Ops> ops;
};

Tensor segments_of(int64_t T, int64_t S) {
  const Tensor segment = Tensor::empty({T}, DType::kI32);
  for (int64_t t = 0; t < T; ++t) segment.data<int32_t>()[t] = int32_t(t * S / std::max<int64_t>(T, 1));
  return segment;
}
int64_t segment_at(const Tensor& segment, int64_t t) { return segment.data<int32_t>()[t]; }

// Layer norm of one row in double; `g` is the gradient of its normalised value.
struct NormRow {
  double mean = 0, rstd = 0, mass = 0;
  NormRow(const Tensor& x, int64_t t, double eps) {
    const int64_t D = x.row_size();
    for (int64_t c = 0; c < D; ++c) mean += element(x, t, c) / double(D);
    double variance = 0;
    for (int64_t c = 0; c < D; ++c) {
      variance += std::pow(element(x, t, c) - mean, 2) / double(D);
      mass = std::max(mass, std::abs(element(x, t, c)));
    }
    rstd = 1 / std::sqrt(variance + eps);
  }
  double normal(const Tensor& x, int64_t t, int64_t c) const { return (element(x, t, c) - mean) * rstd; }
};

TEST(CpuOps, LayerNormsForwardAndBackward) {
  const Backend backend;
  constexpr double kEps = 1e-6;
  for (const DType compute : kTypes)
    for (const int64_t T : {0, 1, 2, 33, 257})
      for (const int64_t D : {2, 31, 33, 128}) {
        for (const bool affine : {false, true}) {
          SCOPED_TRACE(join_message("T ", T, " D ", D, " ", name_of(compute), affine ? " affine" : ""));
          const int64_t S = affine ? 1 : std::min<int64_t>(T, 5) + 1;  // the last segment may have no rows
          const Tensor x = random_matrix(T, D, 1, DType::kF32, 1, 0.5, 3),
                       dy = random_matrix(T, D, 2, compute);
          const Tensor shift = random_matrix(S, D, 3), scale = random_matrix(S, D, 4);
          const Tensor segment = segments_of(T, affine ? 1 : std::min<int64_t>(T, 5));
          const Output y(T, D, compute), stats(T, 2);
          const Tensor dx = random_matrix(T, D, 5), dshift = random_matrix(S, D, 6),
                       dscale = random_matrix(S, D, 7);
          const Tensor dx0 = test::clone(dx), dshift0 = test::clone(dshift), dscale0 = test::clone(dscale);
          if (affine) {
            backend.ops->layer_norm(y.view(), stats.view(), x, scale.reshape({D}), shift.reshape({D}), kEps);
            backend.ops->layer_norm_backward(dx, dscale.reshape({D}), dshift.reshape({D}), dy, x,
                                             stats.view(), scale.reshape({D}));
          } else {
            backend.ops->layer_norm_modulate(y.view(), stats.view(), x, shift, scale, segment, kEps);
            backend.ops->layer_norm_modulate_backward(dx, dshift, dscale, dy, x, stats.view(), scale,
                                                      segment);
          }
          const auto factor = [&](int64_t t, int64_t c) {
            return element(scale, segment_at(segment, t), c) + (affine ? 0 : 1);
          };
          std::vector<NormRow> rows;
          for (int64_t t = 0; t < T; ++t) rows.emplace_back(x, t, kEps);
          // The error of a normalised value: its subtraction and mean err by u max|x| rstd, rstd by u
          // sqrt(D).
          const auto normal_bound = [&](int64_t t, int64_t c) {
            const NormRow& r = rows[size_t(t)];
            return kUnitF32 * (8 * r.mass * r.rstd * (1 + std::abs(r.normal(x, t, c))) +
                               (8 + 2 * std::sqrt(double(D))) * std::abs(r.normal(x, t, c)));
          };
          EXPECT_TRUE(all_within(
              y.view(),
              [&](int64_t t, int64_t c) {
                return rows[size_t(t)].normal(x, t, c) * factor(t, c) +
                       element(shift, segment_at(segment, t), c);
              },
              [&](int64_t t, int64_t c) {
                const double n = rows[size_t(t)].normal(x, t, c) * factor(t, c);
                const double s = element(shift, segment_at(segment, t), c);
                return normal_bound(t, c) * std::abs(factor(t, c)) +
                       4 * kUnitF32 * (std::abs(n) + std::abs(s)) + store_bound(compute, n + s);
              }));
          const auto gradient = [&](int64_t t, int64_t c, bool bound) {
            const NormRow& r = rows[size_t(t)];
            double mean = 0, slope = 0, mass = 0, drift = 0;
            for (int64_t i = 0; i < D; ++i) {
              const double g = element(dy, t, i) * factor(t, i), n = r.normal(x, t, i);
              mean += g / double(D);
              slope += g * n / double(D);
              mass += std::abs(g) * (1 + std::abs(n)) / double(D);
              drift += std::abs(g) * normal_bound(t, i) / double(D);
            }
            const double g = element(dy, t, c) * factor(t, c), n = r.normal(x, t, c);
            if (!bound) return element(dx0, t, c) + r.rstd * (g - mean - n * slope);
            const double size = std::abs(g) + mass * (1 + std::abs(n));
            return r.rstd * (drift * (1 + std::abs(n)) + mass * normal_bound(t, c) +
                             kUnitF32 * (8 + 4 * std::sqrt(double(D))) * size) +
                   kUnitF32 * std::abs(element(dx0, t, c)) + normal_bound(t, c) * r.rstd * std::abs(g);
          };
          EXPECT_TRUE(all_within(
              dx, [&](int64_t t, int64_t c) { return gradient(t, c, false); },
              [&](int64_t t, int64_t c) { return gradient(t, c, true); }));
          const auto column = [&](int64_t s, int64_t c, bool of_scale, bool bound) {
            double total = element(of_scale ? dscale0 : dshift0, s, c), mass = std::abs(total), drift = 0;
            for (int64_t t = 0; t < T; ++t) {
              if (segment_at(segment, t) != s) continue;
              const double n = of_scale ? rows[size_t(t)].normal(x, t, c) : 1;
              total += element(dy, t, c) * n;
              mass += std::abs(element(dy, t, c) * n);
              if (of_scale) drift += std::abs(element(dy, t, c)) * normal_bound(t, c);
            }
            return bound ? dot_bound(mass, total, T + 1) + drift : total;
          };
          for (const bool of_scale : {false, true})
            EXPECT_TRUE(all_within(
                of_scale ? dscale : dshift,
                [&](int64_t s, int64_t c) { return column(s, c, of_scale, false); },
                [&](int64_t s, int64_t c) { return column(s, c, of_scale, true); }));
          EXPECT_TRUE(y.guards_intact() && stats.guards_intact());
        }
      }
}

TEST(CpuOps, RmsNormRopeForwardAndBackward) {
  const Backend backend;
  constexpr double kEps = 1e-6;
  for (const DType compute : kTypes)
    for (const int64_t T : {0, 1, 33, 130})
      for (const auto& [H, K] : {std::pair<int64_t, int64_t>{2, 24}, {1, 2}, {3, 64}, {2, 17}})
        for (const bool rotated : {false, true}) {
          if (rotated && K % 2) continue;
          SCOPED_TRACE(
              join_message("T ", T, " H ", H, " K ", K, " ", name_of(compute), rotated ? " rotated" : ""));
          const int64_t D = H * K, head_width = K;
          const Tensor x = random_matrix(T, D, 1, compute, 1, 0, 3), weight = random_vector(D, 2);
          const Tensor dy = random_matrix(T, D, 3);
          Tensor rotation;
          if (rotated) {
            rotation = Tensor::empty({T, K}, DType::kF32);
            for (int64_t t = 0; t < T; ++t)
              for (int64_t j = 0; j < K / 2; ++j) {
                rotation.row<float>(t)[2 * j] = float(std::cos(0.3 * double(t) + double(j)));
                rotation.row<float>(t)[2 * j + 1] = float(std::sin(0.3 * double(t) + double(j)));
              }
          }
          const Output y(T, D, compute), dx(T, D, compute);
          const Tensor rstd = Tensor::empty({T}, DType::kF32);
          const Tensor dweight = random_vector(D, 4), dweight0 = test::clone(dweight);
          backend.ops->rms_norm_rope(y.view(), rstd, x, weight, rotation, H, kEps);
          backend.ops->rms_norm_rope_backward(dx.view(), dweight, dy, x, rstd, weight, rotation, H);
          std::vector<double> inverse(size_t(T), 0.0);
          for (int64_t t = 0; t < T; ++t) {
            double squares = 0;
            for (int64_t c = 0; c < D; ++c) squares += std::pow(element(x, t, c), 2) / double(D);
            inverse[size_t(t)] = 1 / std::sqrt(squares + kEps);
          }
          // Rotates pair (c, c ^ 1) of values v(c) by +1 or -1 times the angle; mass: with absolute values.
          const auto rotate = [&](const auto& v, int64_t t, int64_t c, double direction, bool mass) {
            if (!rotated) return mass ? std::abs(v(c)) : v(c);
            const int64_t j = c % head_width, even = j / 2 * 2;
            const double co = element(rotation, t, even), si = element(rotation, t, even + 1) * direction;
            const double other = v(c ^ 1) * (j % 2 ? si : -si);
            return mass ? std::abs(v(c) * co) + std::abs(other) : v(c) * co + other;
          };
          // c ^ 1 pairs columns only when a head starts at an even column.
          const auto normed = [&](int64_t t) {
            return
                [&, t](int64_t c) { return element(x, t, c) * inverse[size_t(t)] * element(weight, c, 0); };
          };
          const double relative = kUnitF32 * (10 + 2 * std::sqrt(double(D)));
          EXPECT_TRUE(all_within(
              y.view(), [&](int64_t t, int64_t c) { return rotate(normed(t), t, c, 1, false); },
              [&](int64_t t, int64_t c) {
                return relative * rotate(normed(t), t, c, 1, true) +
                       store_bound(compute, rotate(normed(t), t, c, 1, false));
              }));
          const auto turned = [&](int64_t t, int64_t c, bool mass) {
            return rotate([&](int64_t i) { return element(dy, t, i); }, t, c, -1, mass);
          };
          const auto gradient = [&](int64_t t, int64_t c, bool bound) {
            const double r = inverse[size_t(t)];
            double slope = 0, mass = 0;
            for (int64_t i = 0; i < D; ++i) {
              const double n = element(x, t, i) * r * element(weight, i, 0);
              slope += turned(t, i, false) * n / double(D);
              mass += turned(t, i, true) * std::abs(n) / double(D);
            }
            const double g = turned(t, c, false) * element(weight, c, 0), n = element(x, t, c) * r;
            const double value = r * (g - n * slope);
            if (!bound) return value;
            const double size = turned(t, c, true) * std::abs(element(weight, c, 0)) + std::abs(n) * mass;
            return kUnitF32 * (12 + 6 * std::sqrt(double(D))) * r * size + store_bound(compute, value);
          };
          EXPECT_TRUE(all_within(
              dx.view(), [&](int64_t t, int64_t c) { return gradient(t, c, false); },
              [&](int64_t t, int64_t c) { return gradient(t, c, true); }));
          const auto column = [&](int64_t c, bool bound) {
            double total = element(dweight0, c, 0), mass = std::abs(total);
            for (int64_t t = 0; t < T; ++t) {
              total += turned(t, c, false) * element(x, t, c) * inverse[size_t(t)];
              mass += turned(t, c, true) * std::abs(element(x, t, c)) * inverse[size_t(t)];
            }
            return bound ? dot_bound(mass, total, T + 1) + relative * mass : total;
          };
          EXPECT_TRUE(all_within(
              dweight, [&](int64_t c, int64_t) { return column(c, false); },
              [&](int64_t c, int64_t) { return column(c, true); }));
          EXPECT_TRUE(y.guards_intact() && dx.guards_intact());
        }
}

double gelu(double x) { return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double silu(double x) { return x / (1 + std::exp(-x)); }
// How much the rounding of the exponential's argument is amplified: its size.
double argument(double x, Activation a) {
  return a == Activation::kGelu ? 2 * std::sqrt(2 / M_PI) * std::abs(x + 0.044715 * x * x * x) : std::abs(x);
}

TEST(CpuOps, ActivationsAndTheirSlopes) {
  const Backend backend;
  for (const Activation a : {Activation::kNone, Activation::kGelu, Activation::kSilu})
    for (const DType in : kTypes)
      for (const DType out : kTypes) {
        const Tensor x = random_matrix(37, 33, 1, in, 3, 0, 2), dy = random_matrix(37, 33, 2, out);
        const Output y(37, 33, out), dx(37, 33, out);
        backend.ops->activate(y.view(), x, a);
        backend.ops->activate_backward(dx.view(), dy, x, a);
        const auto f = [&](double v) {
          return a == Activation::kNone ? v : a == Activation::kGelu ? gelu(v) : silu(v);
        };
        const auto slope = [&](double v) {
          if (a == Activation::kNone) return 1.0;
          const double h = 1e-5;  // central difference: error h^2 f''' / 6, about 1e-10
          return (f(v + h) - f(v - h)) / (2 * h);
        };
        EXPECT_TRUE(all_within(
            y.view(), [&](int64_t t, int64_t c) { return f(element(x, t, c)); },
            [&](int64_t t, int64_t c) {
              const double v = element(x, t, c), ref = std::abs(f(v));
              return 8 * kUnitF32 * ref * (1 + argument(v, a)) + store_bound(out, ref) + 1e-30;
            }));
        EXPECT_TRUE(all_within(
            dx.view(), [&](int64_t t, int64_t c) { return element(dy, t, c) * slope(element(x, t, c)); },
            [&](int64_t t, int64_t c) {
              const double v = element(x, t, c), d = std::abs(element(dy, t, c));
              return d * (8 * kUnitF32 * (1 + argument(v, a)) + 1e-9) + store_bound(out, d * slope(v));
            }));
        EXPECT_TRUE(y.guards_intact() && dx.guards_intact());
      }
}

TEST(CpuOps, GateResidualForwardAndBackward) {
  const Backend backend;
  for (const DType compute : kTypes)
    for (const int64_t T : {0, 1, 33, 257})
      for (const int64_t D : {1, 33, 64})
        for (const bool gated : {false, true}) {
          SCOPED_TRACE(join_message("T ", T, " D ", D, " ", name_of(compute), gated ? " gated" : ""));
          const int64_t S = std::min<int64_t>(T, 7) + 1;
          const Tensor x = random_matrix(T, D, 1), branch = random_matrix(T, D, 2, compute, 1, 0, 3);
          const Tensor segment = segments_of(T, std::min<int64_t>(T, 7)), dy = random_matrix(T, D, 4);
          const Tensor gate = gated ? random_matrix(S, D, 3, DType::kF32, 1, 0, D) : Tensor();
          const Output y(T, D), dbranch(T, D, compute);
          const Tensor dgate = random_matrix(S, D, 5), dgate0 = test::clone(dgate);
          backend.ops->gate_residual(y.view(), x, branch, gate, segment);
          backend.ops->gate_residual_backward(dbranch.view(), gated ? dgate : Tensor(), dy, branch, gate,
                                              segment);
          const auto gate_at = [&](int64_t t, int64_t c) {
            return gated ? element(gate, segment_at(segment, t), c) : 1.0;
          };
          EXPECT_TRUE(all_within(
              y.view(),
              [&](int64_t t, int64_t c) { return element(x, t, c) + gate_at(t, c) * element(branch, t, c); },
              [&](int64_t t, int64_t c) {
                return 2 * kUnitF32 *
                       (std::abs(element(x, t, c)) + std::abs(gate_at(t, c) * element(branch, t, c)));
              }));
          EXPECT_TRUE(all_within(
              dbranch.view(), [&](int64_t t, int64_t c) { return gate_at(t, c) * element(dy, t, c); },
              [&](int64_t t, int64_t c) {
                const double ref = std::abs(gate_at(t, c) * element(dy, t, c));
                return 8 * kUnitF32 * ref + store_bound(compute, ref);
              }));
          const auto column = [&](int64_t s, int64_t c, bool bound) {
            double total = element(dgate0, s, c), mass = std::abs(total);
            for (int64_t t = 0; t < T; ++t) {
              if (!gated || segment_at(segment, t) != s) continue;
              total += element(branch, t, c) * element(dy, t, c);
              mass += std::abs(element(branch, t, c) * element(dy, t, c));
            }
            return bound ? dot_bound(mass, total, T + 1) : total;
          };
          EXPECT_TRUE(all_within(
              dgate, [&](int64_t s, int64_t c) { return column(s, c, false); },
              [&](int64_t s, int64_t c) { return column(s, c, true); }));
          EXPECT_TRUE(y.guards_intact() && dbranch.guards_intact());
        }
}

TEST(CpuOps, ConvertRoundsLikeBf16) {
  const Backend backend;
  for (const int64_t size : kSizes) {
    const Tensor x = random_matrix(3, size, 1);
    x.row<float>(0)[0] = std::numeric_limits<float>::quiet_NaN();
    x.row<float>(1)[0] = std::numeric_limits<float>::infinity();
    x.row<float>(2)[0] =
        std::bit_cast<float>(0x7fffffffu);  // a NaN whose rounding would overflow the exponent
    const Output y(3, size, DType::kBF16), back(3, size);
    backend.ops->convert(y.view(), x);
    backend.ops->convert(back.view(), y.view());
    for (int64_t t = 0; t < 3; ++t)
      for (int64_t c = 0; c < size; ++c) {
        EXPECT_EQ(y.view().row<bf16>(t)[c].bits, bf16(x.row<float>(t)[c]).bits);
        EXPECT_EQ(std::bit_cast<uint32_t>(back.view().row<float>(t)[c]),
                  uint32_t(y.view().row<bf16>(t)[c].bits) << 16);
      }
    EXPECT_TRUE(y.guards_intact() && back.guards_intact());
  }
}

TEST(CpuOps, AddSumSquaresSquaredError) {
  const Backend backend;
  for (const int64_t T : {0, 1, 33, 300})
    for (const int64_t P : {1, 33, 768}) {
      const Tensor y = random_matrix(T, P, 1, DType::kF32, 1, 0, 2), target = random_matrix(T, P, 2);
      const Tensor weight = random_vector(T, 3, 0.1, 1), row_loss = Tensor::empty({T}, DType::kF32);
      for (const DType out : kTypes) {
        const Output dy(T, P, out);
        const double loss = backend.ops->squared_error(dy.view(), row_loss, y, target, weight, 0.25);
        double expected = 0;
        for (int64_t t = 0; t < T; ++t) {
          double row = 0;
          for (int64_t c = 0; c < P; ++c) row += std::pow(element(y, t, c) - element(target, t, c), 2);
          expected += element(weight, t, 0) * row;
          EXPECT_TRUE(
              test::is_within(element(row_loss, t, 0), element(weight, t, 0) * row, 8 * kUnitF32 * row * 2));
        }
        EXPECT_TRUE(test::is_within(loss, expected, 4 * kUnitF32 * expected));
        EXPECT_TRUE(all_within(
            dy.view(),
            [&](int64_t t, int64_t c) {
              return 0.5 * element(weight, t, 0) * (element(y, t, c) - element(target, t, c));
            },
            [&](int64_t t, int64_t c) {
              const double ref = std::abs(element(y, t, c) - element(target, t, c)) * element(weight, t, 0);
              return 8 * kUnitF32 * ref + store_bound(out, ref);
            }));
      }
      double squares = 0;
      for (int64_t t = 0; t < T; ++t)
        for (int64_t c = 0; c < P; ++c) squares += std::pow(element(target, t, c), 2);
      EXPECT_NEAR(backend.ops->sum_squares(target), squares, 1e-12 * squares);
      const Tensor total = test::clone(y);
      backend.ops->add(total, target);
      EXPECT_TRUE(all_within(
          total, [&](int64_t t, int64_t c) { return element(y, t, c) + element(target, t, c); },
          [&](int64_t t, int64_t c) {
            return kUnitF32 * (std::abs(element(y, t, c)) + std::abs(element(target, t, c)));
          }));
    }
}

TEST(CpuOps, AdamwUpdatesAndAverages) {
  const Backend backend;
  for (const int64_t n : {1, 33, 40000})
    for (const bool averaged : {false, true}) {
      const Tensor value = random_vector(n, 1), grad = random_vector(n, 2), ema = random_vector(n, 3);
      const Tensor first = random_vector(n, 4, 0.1), second = random_vector(n, 5, 0.01, 1);
      const Tensor v0 = test::clone(value), m0 = test::clone(first), s0 = test::clone(second),
                   e0 = test::clone(ema);
      const AdamwStep step{1e-2, 0.9, 0.999, 1e-8, 0.1, 0.5, 3, 0.99};
      backend.ops->adamw(value, first, second, averaged ? ema : Tensor(), grad, step);
      const auto m = [&](int64_t i) { return 0.9 * element(m0, i, 0) + 0.1 * 0.5 * element(grad, i, 0); };
      const auto s = [&](int64_t i) {
        return 0.999 * element(s0, i, 0) + 0.001 * std::pow(0.5 * element(grad, i, 0), 2);
      };
      const auto v = [&](int64_t i) {
        const double mhat = m(i) / (1 - std::pow(0.9, 3)), shat = s(i) / (1 - std::pow(0.999, 3));
        return element(v0, i, 0) * (1 - 1e-3) - 1e-2 * mhat / (std::sqrt(shat) + 1e-8);
      };
      const auto size = [&](int64_t i, const Tensor& t) { return std::abs(element(t, i, 0)); };
      EXPECT_TRUE(all_within(
          first, [&](int64_t i, int64_t) { return m(i); },
          [&](int64_t i, int64_t) { return 8 * kUnitF32 * (size(i, m0) + size(i, grad)); }));
      EXPECT_TRUE(all_within(
          second, [&](int64_t i, int64_t) { return s(i); },
          [&](int64_t i, int64_t) { return 8 * kUnitF32 * s(i); }));
      EXPECT_TRUE(all_within(
          value, [&](int64_t i, int64_t) { return v(i); },
          [&](int64_t i, int64_t) { return 8 * kUnitF32 * (size(i, v0) + size(i, m0) + size(i, grad)); }));
      EXPECT_TRUE(all_within(
          ema,
          [&](int64_t i, int64_t) {
            return averaged ? 0.99 * element(e0, i, 0) + 0.01 * v(i) : element(e0, i, 0);
          },
          [&](int64_t i, int64_t) {
            return averaged ? 8 * kUnitF32 * (size(i, e0) + size(i, v0) + 1) : 0.0;
          }));
    }
}

TEST(CpuOps, WrongShapesAndTypesAreErrors) {
  const Backend backend;
  const Tensor a = random_matrix(4, 8, 1), b = random_matrix(4, 7, 2), d = Tensor::zeros({4, 8}, DType::kF64);
  EXPECT_THROW(backend.ops->convert(b, a), Error);
  EXPECT_THROW(backend.ops->add(a, d), Error);
  EXPECT_THROW(backend.ops->activate(a, d, Activation::kGelu), Error);
  const Weight weight = make_weight(*backend.ops, 8, 8, DType::kF32, 3);
  EXPECT_THROW(backend.ops->linear(a, b, weight, Tensor()), Error);
  EXPECT_THROW(backend.ops->linear(random_matrix(4, 8, 1, DType::kBF16), random_matrix(4, 8, 1, DType::kBF16),
                                   weight, Tensor()),
               Error)
      << "a weight that is not prepared for bf16";
}

}  // namespace
}  // namespace zoetrope
