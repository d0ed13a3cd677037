#include "tests/support/ring_case.h"

#include <algorithm>
#include <cmath>

#include "core/rng.h"

namespace zoetrope::test {
namespace {

/// Bounds after style.md 5.9: softmax and attention err by 2 u (scale max sum|q k| + sqrt S) of the largest
/// value that is averaged; a gradient's terms p (dp - delta) are at most 2 max|dp| p, and the weights p sum
/// to 1 over a row (dq) and to `column_mass` over a column (dk, dv).
void set_bounds(WholeAttention& a, double scale, double logit_mass, double column_mass, double dp_mass) {
  const auto largest = [](const std::vector<double>& values) {
    double most = 0;
    for (const double value : values) most = std::max(most, std::abs(value));
    return most;
  };
  const double relative = 2 * (logit_mass + std::sqrt(double(a.tokens)));
  a.out_bound = relative * largest(a.v);
  a.lse_bound = 2 * relative + 4;
  a.dq_bound = relative * 2 * dp_mass * scale * largest(a.k);
  a.dk_bound = relative * 2 * dp_mass * scale * largest(a.q) * std::max(1.0, column_mass);
  a.dv_bound = relative * largest(a.dout) * std::max(1.0, column_mass);
}

/// Weights of one row and head, and the row's log-sum-exp.
double softmax_row(const WholeAttention& a, int64_t head, int64_t row, double scale, std::vector<double>& p,
                   double& logit_mass) {
  const int64_t width = a.heads * a.head_width, first = head * a.head_width;
  double most = -INFINITY;
  for (int64_t j = 0; j < a.tokens; ++j) {
    double dot = 0, mass = 0;
    for (int64_t c = 0; c < a.head_width; ++c) {
      const double term = a.q[size_t(row * width + first + c)] * a.k[size_t(j * width + first + c)];
      dot += term;
      mass += std::abs(term);
    }
    p[size_t(j)] = scale * dot;
    logit_mass = std::max(logit_mass, scale * mass);
    most = std::max(most, scale * dot);
  }
  double sum = 0;
  for (const double logit : p) sum += std::exp(logit - most);
  const double lse = most + std::log(sum);
  for (double& logit : p) logit = std::exp(logit - lse);
  return lse;
}

void attend_head(WholeAttention& a, int64_t head, double scale, double& logit_mass, double& column_mass,
                 double& dp_mass) {
  const int64_t width = a.heads * a.head_width, first = head * a.head_width;
  std::vector<double> p(static_cast<size_t>(a.tokens)), dp(p), columns(p.size(), 0.0);
  const auto at = [&](int64_t row, int64_t c) { return size_t(row * width + first + c); };
  for (int64_t i = 0; i < a.tokens; ++i) {
    a.lse[size_t(i * a.heads + head)] = softmax_row(a, head, i, scale, p, logit_mass);
    double delta = 0;
    for (int64_t j = 0; j < a.tokens; ++j) {
      double dot = 0, mass = 0;
      for (int64_t c = 0; c < a.head_width; ++c) {
        a.out[at(i, c)] += p[size_t(j)] * a.v[at(j, c)];
        a.dv[at(j, c)] += p[size_t(j)] * a.dout[at(i, c)];
        dot += a.dout[at(i, c)] * a.v[at(j, c)];
        mass += std::abs(a.dout[at(i, c)] * a.v[at(j, c)]);
      }
      dp[size_t(j)] = dot;
      dp_mass = std::max(dp_mass, mass);
      delta += p[size_t(j)] * dot;
      columns[size_t(j)] += p[size_t(j)];
    }
    for (int64_t j = 0; j < a.tokens; ++j) {
      const double ds = scale * p[size_t(j)] * (dp[size_t(j)] - delta);
      for (int64_t c = 0; c < a.head_width; ++c) {
        a.dq[at(i, c)] += ds * a.k[at(j, c)];
        a.dk[at(j, c)] += ds * a.q[at(i, c)];
      }
    }
  }
  for (const double mass : columns) column_mass = std::max(column_mass, mass);
}

}  // namespace

int64_t CaseRandom::between(int64_t low, int64_t high) {
  const auto words =
      philox({uint32_t(count_), uint32_t(count_ >> 32), 0, 0}, {uint32_t(seed_), uint32_t(seed_ >> 32)});
  ++count_;
  return low + int64_t(words[0] % uint64_t(high - low + 1));
}

Plan random_wave(const std::vector<int64_t>& lengths, int ranks, int idle, CaseRandom& random) {
  Plan plan;
  Wave& wave = plan.waves.emplace_back();
  wave.slots.resize(size_t(ranks));
  for (int64_t sample = 0; sample < int64_t(lengths.size()); ++sample) {
    std::vector<int> members;
    for (int slot = 0; slot < ranks; ++slot)
      if (slot != idle) members.push_back(slot);
    for (size_t i = members.size(); i > 1; --i)
      std::swap(members[i - 1], members[size_t(random.between(0, int64_t(i) - 1))]);
    const int64_t length = lengths[size_t(sample)];
    const int64_t c = random.between(1, std::min(length, int64_t(members.size())));
    std::vector<int64_t> cuts{0, length};
    while (int64_t(cuts.size()) < c + 1) {
      const int64_t cut =
          random.between(0, 2) == 0 ? int64_t(cuts.size()) - 1 : random.between(1, length - 1);
      if (std::find(cuts.begin(), cuts.end(), cut) == cuts.end()) cuts.push_back(cut);
      else if (const int64_t other = random.between(1, length - 1);
               std::find(cuts.begin(), cuts.end(), other) == cuts.end())
        cuts.push_back(other);
    }
    std::sort(cuts.begin(), cuts.end());
    for (int64_t i = 0; i < c; ++i) {
      auto& slot = wave.slots[size_t(members[size_t(i)])];
      slot.insert(slot.begin() + random.between(0, int64_t(slot.size())),
                  {sample, cuts[size_t(i)], cuts[size_t(i + 1)]});
    }
  }
  list_rings(plan);
  return plan;
}

MicroBatch layout_of(const Plan& plan, int64_t wave, int slot, const std::vector<int64_t>& lengths) {
  MicroBatch batch;
  batch.wave = wave;
  int64_t row = 0;
  for (const Shard& shard : plan.waves[size_t(wave)].slots[size_t(slot)]) {
    const int64_t length = lengths[size_t(shard.sample)];
    Segment& segment = batch.segments.emplace_back();
    segment.sample = shard.sample;
    segment.draw = 100 + shard.sample;
    segment.begin = shard.begin;
    segment.end = shard.end;
    segment.sample_tokens = length;
    segment.grid = {length, 1, 1};
    segment.row = row;
    row += shard.num_tokens();
  }
  return batch;
}

WholeAttention whole_attention(int64_t tokens, int64_t heads, int64_t head_width, uint64_t seed,
                               DType inputs) {
  WholeAttention a;
  a.tokens = tokens;
  a.heads = heads;
  a.head_width = head_width;
  const size_t size = size_t(tokens * heads * head_width);
  CaseRandom random(seed);
  for (std::vector<double>* input : {&a.q, &a.k, &a.v, &a.dout}) {
    input->resize(size);
    for (double& value : *input) {
      const float drawn = float(double(random.between(-1000, 1000)) / 500);
      value = double(inputs == DType::kBF16 ? float(bf16(drawn)) : drawn);
    }
  }
  for (std::vector<double>* result : {&a.out, &a.dq, &a.dk, &a.dv}) result->assign(size, 0.0);
  a.lse.assign(size_t(tokens * heads), 0.0);
  const double scale = 1 / std::sqrt(double(head_width));
  double logit_mass = 0, column_mass = 0, dp_mass = 0;
  for (int64_t head = 0; head < heads; ++head) attend_head(a, head, scale, logit_mass, column_mass, dp_mass);
  set_bounds(a, scale, logit_mass, column_mass, dp_mass);
  return a;
}

}  // namespace zoetrope::test
