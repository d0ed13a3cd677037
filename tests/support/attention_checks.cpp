#include "tests/support/attention_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/support/close.h"
#include "tests/support/op_tensors.h"

namespace zoetrope::test {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

/// Largest error of all elements; NaN counts as infinite.
double largest_error(const Tensor& found, const Reference& expected) {
  double most = 0;
  for (int64_t t = 0; t < found.rows(); ++t)
    for (int64_t c = 0; c < found.row_size(); ++c) {
      const double error = std::abs(element(found, t, c) - expected(t, c));
      if (!(error <= most)) most = std::isnan(error) ? double(-kNothing) : error;
    }
  return most;
}

/// Spacing of bf16 numbers at `x`.
double ulp_bf16(double x) { return x == 0 ? 0 : std::exp2(std::floor(std::log2(x))) * 2 * kUnitBF16; }

double allowed(double naive_error, double largest) { return 2 * naive_error + ulp_bf16(largest); }

/// What runs where none is given: the operators'.
AttentionForward forward_of(const Ops& ops, const AttentionForward& given) {
  if (given) return given;
  return [&ops](const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
                std::span<const AttentionItem> items, const AttentionProblem& p,
                bool accumulate) { ops.attention(out, lse, q, k, v, items, p.H, p.scale, accumulate); };
}

void check_forward(const OpsUnderTest& backend, const AttentionProblem& p, DType out_type,
                   const AttentionForward& forward) {
  const Output out(p.T, p.D, out_type, 5.0);
  const Tensor lse = random_matrix(p.T, p.H, 9), untouched = clone(lse);
  backend.run([&](Placed& placed) {
    forward_of(placed.ops(), forward)(placed.out(out.view()), placed.out(lse), placed.in(p.q), placed.in(p.k),
                                      placed.in(p.v), p.c.items, p, false);
  });
  const auto owned = [&](int64_t t) { return p.item_of_query[size_t(t)] != nullptr; };
  const Reference answer = [&](int64_t t, int64_t i) { return owned(t) ? p.out[size_t(t * p.D + i)] : 5.0; };
  EXPECT_TRUE(all_within(out.view(), answer, [&](int64_t t, int64_t i) {
    return owned(t) ? p.out_bound(t, i) + store_bound(out_type, p.out[size_t(t * p.D + i)]) : 0;
  }));
  EXPECT_TRUE(all_within(
      lse,
      [&](int64_t t, int64_t h) { return owned(t) ? p.lse[size_t(t * p.H + h)] : element(untouched, t, h); },
      [&](int64_t t, int64_t h) { return owned(t) ? p.lse_bound(t, h) : 0; }));
  if (p.c.compute == DType::kBF16) {
    const NaiveErrors naive = naive_bf16_errors(p);
    EXPECT_LE(largest_error(out.view(), answer), allowed(naive.out, naive.largest_out));
  }
}

void check_backward(const OpsUnderTest& backend, const AttentionProblem& p, const AttentionBackward& backward,
                    DType out_type) {
  const Tensor out = Tensor::zeros({p.T, p.D}, out_type), lse = Tensor::zeros({p.T, p.H}, DType::kF32);
  const Tensor delta = random_matrix(p.T, p.H, 8, DType::kF32, 1, 0, 3);
  const Output dq(p.T, p.D, DType::kF32, 0.5), dk(p.Tk, p.D, DType::kF32, 0.5),
      dv(p.Tk, p.D, DType::kF32, 0.5);
  backend.run([&](Placed& on) {
    const Ops& ops = on.ops();
    const Tensor q = on.in(p.q), k = on.in(p.k), v = on.in(p.v), dout = on.in(p.dout);
    ops.attention(on.out(out), on.out(lse), q, k, v, p.c.items, p.H, p.scale, false);
    ops.attention_delta(on.out(delta), dout, on.out(out), p.H);
    const Tensor to_q = on.out(dq.view()), to_k = on.out(dk.view()), to_v = on.out(dv.view());
    if (backward) return backward(to_q, to_k, to_v, dout, q, k, v, on.out(lse), on.out(delta), p);
    ops.attention_backward(to_q, to_k, to_v, dout, on.out(out), q, k, v, on.out(lse), on.out(delta),
                           p.c.items, p.H, p.scale);
  });
  const auto check = [&](const char* name, const Output& found, const std::vector<double>& answer,
                         const std::vector<double>& mass, int64_t count, double naive, double largest) {
    SCOPED_TRACE(name);
    const Reference expected = [&](int64_t t, int64_t i) { return 0.5 + answer[size_t(t * p.D + i)]; };
    // += onto 0.5 rounds partial sums of that size.
    const Reference adding = [&](int64_t t, int64_t i) { return dot_bound(0.5, expected(t, i), count); };
    EXPECT_TRUE(all_within(found.view(), expected, [&](int64_t t, int64_t i) {
      return p.gradient_bound(mass[size_t(t * p.D + i)], count) + adding(t, i);
    }));
    if (p.c.compute == DType::kBF16) {
      EXPECT_LE(largest_error(found.view(), expected),
                allowed(naive, largest) + dot_bound(0.5, 0.5 + largest, count));
    }
  };
  const NaiveErrors naive = p.c.compute == DType::kBF16 ? naive_bf16_errors(p) : NaiveErrors{};
  check("dq", dq, p.dq, p.dq_mass, p.Tk, naive.dq, naive.largest_dq);
  check("dk", dk, p.dk, p.dk_mass, p.T, naive.dk, naive.largest_dk);
  check("dv", dv, p.dv, p.dv_mass, p.T, naive.dv, naive.largest_dv);
}

/// Merges the pieces of one item's keys in their order and holds the result against the whole.
void check_merge(const OpsUnderTest& backend, const AttentionProblem& p,
                 const std::vector<AttentionItem>& pieces, const AttentionForward& forward) {
  const Tensor out = Tensor::zeros({p.T, p.D}, DType::kF32), lse = Tensor::empty({p.T, p.H}, DType::kF32);
  std::fill_n(lse.data<float>(), lse.size(), kNothing);
  backend.run([&](Placed& on) {
    for (const AttentionItem& piece : pieces)
      forward_of(on.ops(), forward)(on.out(out), on.out(lse), on.in(p.q), on.in(p.k), on.in(p.v),
                                    std::span(&piece, 1), p, true);
  });
  const auto inside = [&](int64_t t) { return p.item_of_query[size_t(t)] != nullptr; };
  EXPECT_TRUE(all_within(
      out, [&](int64_t t, int64_t i) { return inside(t) ? p.out[size_t(t * p.D + i)] : 0; },
      [&](int64_t t, int64_t i) { return 2 * p.out_bound(t, i); }));
  EXPECT_TRUE(all_within(
      lse, [&](int64_t t, int64_t h) { return inside(t) ? p.lse[size_t(t * p.H + h)] : double(kNothing); },
      [&](int64_t t, int64_t h) { return 2 * p.lse_bound(t, h); }));
}

}  // namespace

void check_attention_forward(const OpsUnderTest& backend, const std::vector<AttentionCase>& cases,
                             const AttentionForward& forward) {
  for (const AttentionCase& c : cases) {
    SCOPED_TRACE(name_of_case(c));
    const AttentionProblem p(c);
    check_forward(backend, p, DType::kF32, forward);
    if (c.compute == DType::kBF16) check_forward(backend, p, DType::kBF16, forward);
  }
}

void check_attention_backward(const OpsUnderTest& backend, const std::vector<AttentionCase>& cases,
                              const AttentionBackward& backward, DType out_type) {
  for (const AttentionCase& c : cases) {
    SCOPED_TRACE(name_of_case(c));
    check_backward(backend, AttentionProblem(c), backward, out_type);
  }
}

void check_attention_delta(const OpsUnderTest& backend) {
  for (const auto& [heads, K] :
       std::vector<std::pair<int64_t, int64_t>>{{3, 1}, {1, 7}, {2, 64}, {5, 80}, {2, 256}})
    for (const DType dout_type : {DType::kF32, DType::kBF16})
      for (const DType out_type : {DType::kF32, DType::kBF16})
        for (const int64_t padding : {0, 3, 8}) {
          SCOPED_TRACE(join_message(heads, " heads of ", K, ", dout ", name_of(dout_type), ", out ",
                                    name_of(out_type), ", padding ", padding));
          const int64_t T = 37;
          const Tensor dout = random_matrix(T, heads * K, 1, dout_type, 1, 0, padding);
          const Tensor out = random_matrix(T, heads * K, 2, out_type, 1, 0, padding);
          const Output delta(T, heads);
          backend.run([&](Placed& on) {
            on.ops().attention_delta(on.out(delta.view()), on.in(dout), on.in(out), heads);
          });
          const auto sum = [&](int64_t t, int64_t h, bool mass) {
            double total = 0;
            for (int64_t c = h * K; c < (h + 1) * K; ++c) {
              const double term = element(dout, t, c) * element(out, t, c);
              total += mass ? std::abs(term) : term;
            }
            return total;
          };
          EXPECT_TRUE(all_within(
              delta.view(), [&](int64_t t, int64_t h) { return sum(t, h, false); },
              [&](int64_t t, int64_t h) { return dot_bound(sum(t, h, true), sum(t, h, false), K); }));
        }
}

void check_attention_merge(const OpsUnderTest& backend, const AttentionForward& forward) {
  for (const DType compute : {DType::kF32, DType::kBF16})
    for (const int64_t K : {40, 64, 128}) {
      if (forward && (compute == DType::kF32 || K == 40)) continue;
      const AttentionProblem p(AttentionCase{2, K, {{0, 70, 0, 151}}, compute, 2, true});
      std::vector<AttentionItem> pieces{{0, 70, 100, 151}, {0, 70, 7, 7},  {0, 70, 0, 1},
                                        {0, 70, 1, 100},   {0, 0, 20, 30}, {0, 70, 151, 151}};
      for (int order = 0; order < 3; ++order) {
        SCOPED_TRACE(join_message(name_of_case(p.c), ", order ", order));
        check_merge(backend, p, pieces, forward);
        std::rotate(pieces.begin(), pieces.begin() + 1, pieces.end());
        std::swap(pieces[0], pieces[3]);
      }
    }
}

void check_attention_of_many_items(const OpsUnderTest& backend) {
  for (const DType compute : {DType::kF32, DType::kBF16}) {
    std::vector<AttentionItem> items;
    for (int64_t i = 0, q = 0, kv = 0; i < 150; ++i) {
      items.push_back({q, q + i % 4, kv, kv + i % 3});
      q += i % 4, kv += i % 3;
    }
    const AttentionCase c{2, 64, items, compute, 1, true};
    check_attention_forward(backend, {c});
    check_attention_backward(backend, {c});
  }
}

void check_attention_refusals(const OpsUnderTest& backend) {
  const int64_t H = 2, K = 16, T = 5;
  const AttentionItem good{0, T, 0, T};
  const auto call = [&](DType out_type, DType k_type, AttentionItem item, int64_t heads, double scale,
                        bool accumulate) {
    const Tensor q = random_matrix(T, H * K, 1), k = random_matrix(T, H * K, 2, k_type),
                 v = random_matrix(T, H * K, 3);
    const Tensor out = Tensor::zeros({T, H * K}, out_type), lse = Tensor::zeros({T, H}, DType::kF32);
    backend.run([&](Placed& on) {
      on.ops().attention(on.out(out), on.out(lse), on.in(q), on.in(k), on.in(v), std::span(&item, 1), heads,
                         scale, accumulate);
    });
  };
  EXPECT_NO_THROW(call(DType::kF32, DType::kF32, good, H, 0.25, false));
  EXPECT_THROW(call(DType::kF32, DType::kBF16, good, H, 0.25, false), Error);
  EXPECT_THROW(call(DType::kBF16, DType::kF32, good, H, 0.25, true), Error);
  EXPECT_THROW(call(DType::kF32, DType::kF32, {0, T + 1, 0, T}, H, 0.25, false), Error);
  EXPECT_THROW(call(DType::kF32, DType::kF32, {0, T, 3, 2}, H, 0.25, false), Error);
  EXPECT_THROW(call(DType::kF32, DType::kF32, good, 3, 0.25, false), Error);
  EXPECT_THROW(call(DType::kF32, DType::kF32, good, H, 0, false), Error);
}

}  // namespace zoetrope::test
