// Attention of the CPU backend, forward and backward, against softmax in double; merging of key ranges.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "model/ops/cpu/attention_common.h"
#include "model/ops/cpu/tiles.h"
#include "model/ops/ops.h"
#include "tests/support/close.h"
#include "tests/support/op_tensors.h"

namespace zoetrope {
namespace {

using test::all_within;
using test::element;
using test::kUnitBF16;
using test::kUnitF32;
using test::Output;
using test::random_matrix;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Backend {
  explicit Backend(int threads = 2)
      : pool(threads),
        workspace(64 << 20, Device::kCpu, "test"),
        workspace_of_kernels(64 << 20, Device::kCpu, "test of kernels"),
        ops(make_ops(Device::kCpu, pool, workspace)) {}
  ThreadPool pool;
  Arena workspace;
  mutable Arena workspace_of_kernels;
  std::unique_ptr<Ops> ops;
};

struct Case {
  int64_t heads, head_width;
  std::vector<AttentionItem> items;
  DType compute = DType::kF32;
  double size = 1;  ///< of q and k: large ones make the softmax nearly one-hot
};

/// The kernel that `Ops` chooses, or the one by block products, which serves processors without tiles.
enum class Kernel { kChosen, kBlocks };

/// Kernels that a case can run on here.
std::vector<Kernel> kernels(DType compute) {
  if (compute == DType::kBF16 && cpu::has_tiles()) return {Kernel::kChosen, Kernel::kBlocks};
  return {Kernel::kChosen};
}

double largest(const Tensor& x) {
  double most = 0;
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c) most = std::max(most, std::abs(element(x, t, c)));
  return most;
}

/// Inputs and the answer of a case in double, with the sums that bounds are made of.
struct Problem {
  Case c;
  int64_t H, K, D, T = 0, Tk = 0;
  double scale;
  Tensor q, k, v, dout;
  std::vector<const AttentionItem*> item_of_query, item_of_key;

  explicit Problem(const Case& given)
      : c(given), H(c.heads), K(c.head_width), D(H * K), scale(1 / std::sqrt(double(K))) {
    for (const AttentionItem& item : c.items) {
      T = std::max(T, item.q_end + 1);  // one row that belongs to no item
      Tk = std::max(Tk, item.kv_end + 1);
    }
    q = random_matrix(T, D, 1, c.compute, c.size, 0, 6);
    k = random_matrix(Tk, D, 2, c.compute, c.size, 0, 4);
    v = random_matrix(Tk, D, 3, c.compute, 1, 0, 2);
    dout = random_matrix(T, D, 4, c.compute);
    item_of_query.resize(size_t(T));
    item_of_key.resize(size_t(Tk));
    for (const AttentionItem& item : c.items) {
      for (int64_t t = item.q_begin; t < item.q_end; ++t) item_of_query[size_t(t)] = &item;
      for (int64_t s = item.kv_begin; s < item.kv_end; ++s) item_of_key[size_t(s)] = &item;
    }
    solve();
    for (const double r : reach) largest_reach = std::max(largest_reach, r);
    largest_v = largest(v);
  }

  /// Sum of the products of two rows in a head, and of their magnitudes.
  struct Product {
    double value = 0, mass = 0;
  };
  Product product(const std::vector<double>& a, int64_t t, const std::vector<double>& b, int64_t s,
                  int64_t h) const {
    Product sum;
    const double *as = a.data() + t * D, *bs = b.data() + s * D;
    for (int64_t i = h * K; i < (h + 1) * K; ++i)
      sum.value += as[i] * bs[i], sum.mass += std::abs(as[i] * bs[i]);
    return sum;
  }

  /// Answers, indexed [row * D + column] or [row * H + head].
  std::vector<double> out, lse, delta, dq, dk, dv;
  /// Bounds: per (row, head) the largest scale * sum |q k|; magnitude sums for the gradients.
  std::vector<double> reach, dq_mass, dk_mass, dv_mass;
  double largest_reach = 0, largest_v = 0;

 private:
  void solve() {
    const auto doubles = [](const Tensor& x) {
      std::vector<double> values;
      for (int64_t t = 0; t < x.rows(); ++t)
        for (int64_t c = 0; c < x.row_size(); ++c) values.push_back(element(x, t, c));
      return values;
    };
    in_q = doubles(q), in_k = doubles(k), in_v = doubles(v), in_dout = doubles(dout);
    const auto zeros = [](int64_t n) { return std::vector<double>(size_t(n), 0.0); };
    out = zeros(T * D), dq = zeros(T * D), dk = zeros(Tk * D), dv = zeros(Tk * D);
    dq_mass = zeros(T * D), dk_mass = zeros(Tk * D), dv_mass = zeros(Tk * D);
    delta = zeros(T * H), reach = zeros(T * H);
    lse.assign(size_t(T * H), -kInfinity);
    for (int64_t t = 0; t < T; ++t)
      if (item_of_query[size_t(t)])
        for (int64_t h = 0; h < H; ++h) solve_row(t, h, *item_of_query[size_t(t)]);
  }
  void solve_row(int64_t t, int64_t h, const AttentionItem& item) {
    std::vector<double> score;
    double top = -kInfinity, total = 0;
    for (int64_t s = item.kv_begin; s < item.kv_end; ++s) {
      const Product sum = product(in_q, t, in_k, s, h);
      score.push_back(scale * sum.value);
      top = std::max(top, score.back());
      reach[size_t(t * H + h)] = std::max(reach[size_t(t * H + h)], scale * sum.mass);
    }
    if (score.empty()) return;
    for (const double x : score) total += std::exp(x - top);
    lse[size_t(t * H + h)] = top + std::log(total);
    for (double& x : score) x = std::exp(x - lse[size_t(t * H + h)]);  // probabilities from here on
    const auto row = [&](std::vector<double>& matrix, int64_t index) { return matrix.data() + index * D; };
    double *out_t = row(out, t), *dq_t = row(dq, t), *dq_mass_t = row(dq_mass, t), *q_t = row(in_q, t),
           *dout_t = row(in_dout, t), d = 0;
    for (int64_t s = item.kv_begin; s < item.kv_end; ++s)
      for (int64_t i = h * K; i < (h + 1) * K; ++i)
        out_t[i] += score[size_t(s - item.kv_begin)] * row(in_v, s)[i];
    for (int64_t i = h * K; i < (h + 1) * K; ++i) d += dout_t[i] * out_t[i];
    delta[size_t(t * H + h)] = d;
    for (int64_t s = item.kv_begin; s < item.kv_end; ++s) {
      const double p = score[size_t(s - item.kv_begin)];
      const Product dp = product(in_dout, t, in_v, s, h);
      const double ds = p * (dp.value - d) * scale, ds_mass = p * (dp.mass + std::abs(d)) * scale;
      double *k_s = row(in_k, s), *dk_s = row(dk, s), *dv_s = row(dv, s), *dk_mass_s = row(dk_mass, s),
             *dv_mass_s = row(dv_mass, s);
      for (int64_t i = h * K; i < (h + 1) * K; ++i) {
        dq_t[i] += ds * k_s[i], dq_mass_t[i] += ds_mass * std::abs(k_s[i]);
        dk_s[i] += ds * q_t[i], dk_mass_s[i] += ds_mass * std::abs(q_t[i]);
        dv_s[i] += p * dout_t[i], dv_mass_s[i] += p * std::abs(dout_t[i]);
      }
    }
  }
  std::vector<double> in_q, in_k, in_v, in_dout;
};

const std::function<void()> kNoProgress;

cpu::AttentionCall call_of(const Backend& backend, const Problem& p, std::span<const AttentionItem> items) {
  return {p.q,        p.k, p.v, items, p.H, p.K, float(p.scale), backend.pool, backend.workspace_of_kernels,
          kNoProgress};
}
void forward(const Backend& backend, Kernel kernel, const Problem& p, std::span<const AttentionItem> items,
             const Tensor& out, const Tensor& lse, bool accumulate) {
  if (kernel == Kernel::kBlocks)
    return cpu::attention_by_blocks(call_of(backend, p, items), out, lse, accumulate);
  backend.ops->attention(out, lse, p.q, p.k, p.v, items, p.H, p.scale, accumulate);
}
void backward(const Backend& backend, Kernel kernel, const Problem& p, const Tensor& dq, const Tensor& dk,
              const Tensor& dv, const Tensor& lse, const Tensor& delta) {
  if (kernel == Kernel::kBlocks)
    return cpu::attention_backward_by_blocks(call_of(backend, p, p.c.items), dq, dk, dv, p.dout, lse, delta);
  backend.ops->attention_backward(dq, dk, dv, p.dout, p.q, p.k, p.v, lse, delta, p.c.items, p.H, p.scale);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DType compute : {DType::kF32, DType::kBF16}) {
    for (const int64_t K : {1, 2, 17, 31, 64, 80, 128, 256})
      all.push_back({2, K, {{0, 33, 0, 33}, {33, 34, 40, 41}, {34, 100, 41, 110}}, compute});
    all.push_back({3, 64, {{0, 257, 0, 300}}, compute});
    all.push_back({1, 64, {{0, 1, 0, 2000}}, compute});
    all.push_back({1, 128, {{0, 500, 0, 1}}, compute});
    all.push_back({2, 24, {{0, 5, 3, 3}, {5, 5, 3, 9}, {6, 9, 9, 12}}, compute});  // empty ranges
    all.push_back({2, 32, {{0, 64, 0, 128}, {64, 128, 128, 256}}, compute, 4});    // nearly one-hot
    all.push_back({1, 96, {{0, 65, 0, 65}, {65, 161, 65, 650}}, compute});  // more keys than a span packs
    all.push_back({1, 64, {{0, 1100, 0, 33}, {1100, 1107, 33, 1100}}, compute});
    all.push_back({2, 32, {{0, 70, 0, 90}}, compute, 12});  // scores beyond 2^-126 of their maximum
    all.push_back({2, 64, {}, compute});
  }
  return all;
}

std::string name_of_case(const Case& c) {
  std::string text =
      join_message(c.heads, " heads of ", c.head_width, " ", name_of(c.compute), " size ", c.size);
  for (const AttentionItem& i : c.items)
    text += join_message(" [", i.q_begin, ",", i.q_end, ")x[", i.kv_begin, ",", i.kv_end, ")");
  return text;
}

/// f32: style 5.9's bounds. bf16: probabilities are rounded to bf16 before they meet the values.
double out_bound(const Problem& p, int64_t t, int64_t c) {
  const double reach = p.reach[size_t(t * p.H + c / p.K)], S = double(p.Tk);
  const double f32 = 2 * kUnitF32 * (reach + std::sqrt(S) + 1) * p.largest_v;
  return p.c.compute == DType::kF32 ? f32 : f32 + 2 * kUnitBF16 * p.largest_v;
}
double lse_bound(const Problem& p, int64_t t, int64_t h) {
  return 4 * kUnitF32 * (1 + p.reach[size_t(t * p.H + h)] + std::sqrt(double(p.Tk)));
}
/// Gradients: each term p (dp - delta) errs by the error of p (reach), of dp and of the long sum.
double gradient_bound(const Problem& p, double mass, int64_t count) {
  const double f32 =
      kUnitF32 * (4 * p.largest_reach + 8 + 2 * std::sqrt(double(count)) + 2 * std::sqrt(double(p.K)));
  return mass * (p.c.compute == DType::kF32 ? f32 : f32 + 4 * kUnitBF16) + 1e-30;
}

TEST(CpuAttention, ForwardEqualsSoftmaxInDouble) {
  const Backend backend;
  for (const Case& c : cases()) {
    SCOPED_TRACE(name_of_case(c));
    const Problem p(c);
    for (const Kernel kernel : kernels(c.compute))
      for (const DType out_type : {c.compute, DType::kF32}) {
        const Output out(p.T, p.D, out_type, 5.0);
        const Tensor lse = random_matrix(p.T, p.H, 9), untouched = test::clone(lse);
        forward(backend, kernel, p, c.items, out.view(), lse, false);
        const auto owned = [&](int64_t t) { return p.item_of_query[size_t(t)] != nullptr; };
        EXPECT_TRUE(all_within(
            out.view(), [&](int64_t t, int64_t i) { return owned(t) ? p.out[size_t(t * p.D + i)] : 5.0; },
            [&](int64_t t, int64_t i) {
              return out_bound(p, t, i) + test::store_bound(out_type, p.out[size_t(t * p.D + i)]);
            }));
        EXPECT_TRUE(all_within(
            lse,
            [&](int64_t t, int64_t h) {
              return owned(t) ? p.lse[size_t(t * p.H + h)] : element(untouched, t, h);
            },
            [&](int64_t t, int64_t h) { return lse_bound(p, t, h); }));
        EXPECT_TRUE(out.guards_intact());
      }
  }
}

TEST(CpuAttention, BackwardEqualsGradientInDouble) {
  const Backend backend;
  for (const Case& c : cases()) {
    SCOPED_TRACE(name_of_case(c));
    const Problem p(c);
    for (const Kernel kernel : kernels(c.compute)) {
      const Tensor out = Tensor::zeros({p.T, p.D}, DType::kF32), lse = Tensor::zeros({p.T, p.H}, DType::kF32);
      const Tensor delta = Tensor::zeros({p.T, p.H}, DType::kF32);
      forward(backend, kernel, p, c.items, out, lse, false);
      backend.ops->attention_delta(delta, p.dout, out, c.heads);
      const Output dq(p.T, p.D, DType::kF32, 0.5), dk(p.Tk, p.D, DType::kF32, 0.5),
          dv(p.Tk, p.D, DType::kF32, 0.5);
      backward(backend, kernel, p, dq.view(), dk.view(), dv.view(), lse, delta);
      const auto check = [&](const Output& found, const std::vector<double>& answer,
                             const std::vector<double>& mass, int64_t count) {
        EXPECT_TRUE(all_within(
            found.view(), [&](int64_t t, int64_t i) { return 0.5 + answer[size_t(t * p.D + i)]; },
            [&](int64_t t, int64_t i) {
              // += onto 0.5 rounds partial sums of that size.
              return gradient_bound(p, mass[size_t(t * p.D + i)], count) +
                     test::dot_bound(0.5, 0.5 + answer[size_t(t * p.D + i)], count);
            }));
        EXPECT_TRUE(found.guards_intact());
      };
      check(dq, p.dq, p.dq_mass, p.Tk);
      check(dk, p.dk, p.dk_mass, p.T);
      check(dv, p.dv, p.dv_mass, p.T);
    }
  }
}

TEST(CpuAttention, KeyRangesMergeToTheWhole) {
  const Backend backend;
  for (const DType compute : {DType::kF32, DType::kBF16}) {
    const Problem p({2, 64, {{0, 70, 0, 151}}, compute, 2});
    for (const Kernel kernel : kernels(compute)) {
      const Tensor out = Tensor::zeros({p.T, p.D}, DType::kF32), lse = Tensor::empty({p.T, p.H}, DType::kF32);
      const float nothing = -std::numeric_limits<float>::infinity();
      std::fill_n(lse.data<float>(), lse.size(), nothing);
      // Uneven ranges, an empty one first, in the middle and last.
      for (const auto& [begin, end] : std::vector<std::pair<int64_t, int64_t>>{
               {0, 0}, {100, 151}, {7, 7}, {0, 1}, {1, 100}, {151, 151}}) {
        const AttentionItem item{0, 70, begin, end};
        forward(backend, kernel, p, std::span(&item, 1), out, lse, true);
      }
      const auto inside = [&](int64_t t) { return t < 70; };
      EXPECT_TRUE(all_within(
          out, [&](int64_t t, int64_t i) { return inside(t) ? p.out[size_t(t * p.D + i)] : 0; },
          [&](int64_t t, int64_t i) { return 2 * out_bound(p, t, i); }));
      EXPECT_TRUE(all_within(
          lse, [&](int64_t t, int64_t h) { return inside(t) ? p.lse[size_t(t * p.H + h)] : double(nothing); },
          [&](int64_t t, int64_t h) { return 2 * lse_bound(p, t, h); }));
    }
  }
}

TEST(CpuAttention, ThreadCountDoesNotChangeABit) {
  for (const DType compute : {DType::kF32, DType::kBF16}) {
    const Problem p({3, 40, {{0, 90, 0, 131}, {90, 300, 131, 200}}, compute});
    std::vector<Tensor> first;
    for (const int threads : {1, 2, 3}) {
      const Backend backend(threads);
      const Tensor out = Tensor::zeros({p.T, p.D}, DType::kF32), lse = Tensor::zeros({p.T, p.H}, DType::kF32);
      const Tensor delta = Tensor::zeros({p.T, p.H}, DType::kF32),
                   dq = Tensor::zeros({p.T, p.D}, DType::kF32);
      const Tensor dk = Tensor::zeros({p.Tk, p.D}, DType::kF32), dv = Tensor::zeros({p.Tk, p.D}, DType::kF32);
      backend.ops->attention(out, lse, p.q, p.k, p.v, p.c.items, p.H, p.scale, false);
      backend.ops->attention_delta(delta, p.dout, out, p.H);
      backend.ops->attention_backward(dq, dk, dv, p.dout, p.q, p.k, p.v, lse, delta, p.c.items, p.H, p.scale);
      const std::vector<Tensor> all{out, lse, delta, dq, dk, dv};
      if (first.empty()) first = all;
      for (size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ(std::memcmp(all[i].raw(), first[i].raw(), size_t(all[i].bytes())), 0)
            << "tensor " << i << " with " << threads << " threads";
    }
  }
}

TEST(CpuAttention, ProgressIsCalledFromTheCallingThreadOnly) {
  const Backend backend(3);
  const Problem p({4, 32, {{0, 700, 0, 700}}});
  const Tensor out = Tensor::zeros({p.T, p.D}, DType::kF32), lse = Tensor::zeros({p.T, p.H}, DType::kF32);
  std::atomic<int> calls{0}, strangers{0};
  const std::thread::id caller = std::this_thread::get_id();
  backend.ops->set_progress([&] {
    ++calls;
    if (std::this_thread::get_id() != caller) ++strangers;
  });
  // Another thread may take all blocks of one call, so the calling thread is only sure to have some of many.
  for (int call = 0; call < 1000 && calls == 0; ++call)
    backend.ops->attention(out, lse, p.q, p.k, p.v, p.c.items, p.H, p.scale, false);
  EXPECT_GT(calls, 0);
  EXPECT_EQ(strangers, 0);
  backend.ops->set_progress({});
  const int before = calls;
  backend.ops->attention(out, lse, p.q, p.k, p.v, p.c.items, p.H, p.scale, false);
  EXPECT_EQ(calls, before);
}

}  // namespace
}  // namespace zoetrope
