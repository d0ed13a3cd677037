#include "tests/support/attention_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/close.h"
#include "tests/support/op_tensors.h"

namespace zoetrope::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest(const Tensor& x) {
  double most = 0;
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c) most = std::max(most, std::abs(element(x, t, c)));
  return most;
}

std::vector<double> doubles(const Tensor& x) {
  std::vector<double> values;
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t c = 0; c < x.row_size(); ++c) values.push_back(element(x, t, c));
  return values;
}

std::vector<double> zeros(int64_t n) { return std::vector<double>(size_t(n), 0.0); }

double rounded(double x) { return double(float(bf16(float(x)))); }

double worst(const std::vector<double>& found, const std::vector<double>& answer) {
  double most = 0;
  for (size_t i = 0; i < answer.size(); ++i) most = std::max(most, std::abs(rounded(found[i]) - answer[i]));
  return most;
}
double largest(const std::vector<double>& x) {
  double most = 0;
  for (const double each : x) most = std::max(most, std::abs(each));
  return most;
}

}  // namespace

std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> all;
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
    all.push_back({2, 32, {{0, 70, 0, 90}}, compute, 12});           // scores beyond 2^-126 of their maximum
    all.push_back({1, 40, {{0, 37, 0, 45}}, compute, 1, false, 5});  // 40 x 25 / sqrt(40) = 158 below 0
    all.push_back({2, 64, {}, compute});
  }
  for (const int64_t K : {64, 128}) {
    // Around the warps and tiles of tensor cores, queries and keys of different lengths.
    std::vector<AttentionItem> items;
    int64_t q = 0, kv = 0;
    for (const auto& [rows, keys] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 2}, {2, 1}, {31, 64}, {33, 31}, {64, 127}, {127, 33}, {16, 48}, {128, 97}}) {
      items.push_back({q, q + rows, kv, kv + keys});
      q += rows, kv += keys;
    }
    all.push_back({2, K, items, DType::kBF16, 1, true});
    all.push_back({1, K, {{0, 257, 0, 129}, {257, 258, 129, 129}}, DType::kBF16, 2, true});
    all.push_back(
        {1, K, {{0, 129, 0, 257}, {140, 150, 300, 303}, {160, 170, 310, 310}}, DType::kBF16, 1, true});
    all.push_back({7, K, {{3, 40, 5, 60}}, DType::kBF16, 4, true});
    all.push_back({1, K, {{0, 20, 0, 70}}, DType::kBF16, 12, true});
    all.push_back({1, K, {{0, 37, 0, 45}}, DType::kBF16, 1, true, 5});
  }
  return all;
}

std::string name_of_case(const AttentionCase& c) {
  std::string text = join_message(c.heads, " heads of ", c.head_width, " ", name_of(c.compute), " size ",
                                  c.size, c.aligned ? " aligned" : "", c.opposite != 0 ? " opposite" : "");
  for (const AttentionItem& i : c.items)
    text += join_message(" [", i.q_begin, ",", i.q_end, ")x[", i.kv_begin, ",", i.kv_end, ")");
  return text;
}

AttentionProblem::AttentionProblem(const AttentionCase& given)
    : c(given), H(c.heads), K(c.head_width), D(H * K), scale(1 / std::sqrt(double(K))) {
  for (const AttentionItem& item : c.items) {
    T = std::max(T, item.q_end + 1);
    Tk = std::max(Tk, item.kv_end + 1);
  }
  const bool on_16_bytes = c.aligned;
  q = random_matrix(T, D, 1, c.compute, c.size, c.opposite, on_16_bytes ? 24 : 6);
  k = random_matrix(Tk, D, 2, c.compute, c.size, -c.opposite, on_16_bytes ? 16 : 4);
  v = random_matrix(Tk, D, 3, c.compute, 1, 0, on_16_bytes ? 8 : 2);
  dout = random_matrix(T, D, 4, c.compute);
  for (int64_t s = 0; s < Tk; ++s)
    if (std::ranges::none_of(c.items, [&](const auto& i) { return i.kv_begin <= s && s < i.kv_end; }))
      for (int64_t i = 0; i < D; ++i)
        for (const Tensor* x : {&k, &v}) set_element(*x, s, i, std::numeric_limits<double>::quiet_NaN());
  in_q = doubles(q), in_k = doubles(k), in_v = doubles(v), in_dout = doubles(dout);
  item_of_query.resize(size_t(T));
  for (const AttentionItem& item : c.items)
    for (int64_t t = item.q_begin; t < item.q_end; ++t) item_of_query[size_t(t)] = &item;
  out = zeros(T * D), dq = zeros(T * D), dk = zeros(Tk * D), dv = zeros(Tk * D);
  dq_mass = zeros(T * D), dk_mass = zeros(Tk * D), dv_mass = zeros(Tk * D);
  delta = zeros(T * H), reach = zeros(T * H);
  lse.assign(size_t(T * H), -kInfinity);
  for (int64_t t = 0; t < T; ++t)
    if (item_of_query[size_t(t)])
      for (int64_t h = 0; h < H; ++h) solve_row(t, h, *item_of_query[size_t(t)]);
  for (const double r : reach) largest_reach = std::max(largest_reach, r);
  largest_v = largest(v);
}

AttentionProblem::Product AttentionProblem::product(const std::vector<double>& a, int64_t t,
                                                    const std::vector<double>& b, int64_t s,
                                                    int64_t h) const {
  Product sum;
  const double *as = a.data() + t * D, *bs = b.data() + s * D;
  for (int64_t i = h * K; i < (h + 1) * K; ++i)
    sum.value += as[i] * bs[i], sum.mass += std::abs(as[i] * bs[i]);
  return sum;
}

void AttentionProblem::solve_row(int64_t t, int64_t h, const AttentionItem& item) {
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

double AttentionProblem::out_bound(int64_t t, int64_t column) const {
  const double row_reach = reach[size_t(t * H + column / K)], S = double(Tk);
  const double f32 = 2 * kUnitF32 * (row_reach + std::sqrt(S) + 1) * largest_v;
  return c.compute == DType::kF32 ? f32 : f32 + 2 * kUnitBF16 * largest_v;
}
double AttentionProblem::lse_bound(int64_t t, int64_t head) const {
  const double row_reach = reach[size_t(t * H + head)];
  const double f32 = 4 * kUnitF32 * (1 + row_reach + std::sqrt(double(Tk)));
  // Note [Sums of tensor cores]: in a step they align eight products or more and the sum so far to the
  // largest, cut each, at worst at f32's last bit, and cut the result: 20 u of the partial sum, which grows
  // evenly, so half of that a step. Always towards 0: where all products have one sign nothing cancels.
  // Source: doi:10.7717/peerjcs.330 (A100), arXiv:2403.00232 (H100).
  return c.compute == DType::kF32 ? f32 : f32 + double(K) / 8 * 10 * kUnitF32 * row_reach;
}
double AttentionProblem::gradient_bound(double mass, int64_t count) const {
  const double f32 =
      kUnitF32 * (4 * largest_reach + 8 + 2 * std::sqrt(double(count)) + 2 * std::sqrt(double(K)));
  return mass * (c.compute == DType::kF32 ? f32 : f32 + 4 * kUnitBF16) + 1e-30;
}

NaiveErrors naive_bf16_errors(const AttentionProblem& p) {
  std::vector<double> out = zeros(p.T * p.D), dq = out, dk = zeros(p.Tk * p.D), dv = dk;
  const auto product = [&](const std::vector<double>& a, int64_t t, const std::vector<double>& b, int64_t s,
                           int64_t h) {
    double total = 0;
    for (int64_t i = h * p.K; i < (h + 1) * p.K; ++i)
      total += a[size_t(t * p.D + i)] * b[size_t(s * p.D + i)];
    return rounded(total);
  };
  for (int64_t t = 0; t < p.T; ++t)
    for (int64_t h = 0; p.item_of_query[size_t(t)] && h < p.H; ++h) {
      const AttentionItem& item = *p.item_of_query[size_t(t)];
      std::vector<double> weight;
      double top = -kInfinity, total = 0, delta = 0;
      for (int64_t s = item.kv_begin; s < item.kv_end; ++s)
        weight.push_back(rounded(p.scale * product(p.in_q, t, p.in_k, s, h))),
            top = std::max(top, weight.back());
      for (double& w : weight) w = std::exp(w - top), total += w;
      for (double& w : weight) w = rounded(w / total);
      for (int64_t i = h * p.K; i < (h + 1) * p.K; ++i) {
        double& sum = out[size_t(t * p.D + i)];
        for (int64_t s = item.kv_begin; s < item.kv_end; ++s)
          sum += weight[size_t(s - item.kv_begin)] * p.in_v[size_t(s * p.D + i)];
        delta += p.in_dout[size_t(t * p.D + i)] * rounded(sum);
      }
      for (int64_t s = item.kv_begin; s < item.kv_end; ++s) {
        const double w = weight[size_t(s - item.kv_begin)];
        const double ds = rounded(w * (product(p.in_dout, t, p.in_v, s, h) - delta)) * p.scale;
        for (int64_t i = h * p.K; i < (h + 1) * p.K; ++i) {
          dq[size_t(t * p.D + i)] += ds * p.in_k[size_t(s * p.D + i)];
          dk[size_t(s * p.D + i)] += ds * p.in_q[size_t(t * p.D + i)];
          dv[size_t(s * p.D + i)] += w * p.in_dout[size_t(t * p.D + i)];
        }
      }
    }
  return {worst(out, p.out), worst(dq, p.dq), worst(dk, p.dk), worst(dv, p.dv),
          largest(p.out),    largest(p.dq),   largest(p.dk),   largest(p.dv)};
}

}  // namespace zoetrope::test
