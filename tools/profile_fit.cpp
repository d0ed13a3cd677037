// Six unknowns: every subset of them is solved by its normal equations, and the best solution without a
// negative coefficient wins. Sixty-four small systems, no iteration, the same result everywhere.
#include "tools/profile_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "tools/median.h"

namespace zoetrope {
namespace {

constexpr int kUnknowns = 6;
using Row = std::array<double, kUnknowns>;

/// Equations row . solution = right, weighed and scaled.
struct Equations {
  std::vector<Row> rows;
  std::vector<double> right;
};

Row row_of(const StepSample& s) { return {s.tokens, s.pairs, s.segments, s.remote, s.split_rows, s.waves}; }

/// Solves the normal equations of the unknowns in `subset`; false when they are singular.
bool solve(const Equations& equations, unsigned subset, Row& solution) {
  std::array<std::array<double, kUnknowns + 1>, kUnknowns> system{};
  std::array<int, kUnknowns> unknown{};
  int count = 0;
  for (int u = 0; u < kUnknowns; ++u)
    if (subset >> u & 1) unknown[size_t(count++)] = u;
  for (int i = 0; i < count; ++i)
    for (size_t r = 0; r < equations.rows.size(); ++r) {
      const Row& row = equations.rows[r];
      for (int j = 0; j < count; ++j)
        system[size_t(i)][size_t(j)] += row[size_t(unknown[size_t(i)])] * row[size_t(unknown[size_t(j)])];
      system[size_t(i)][size_t(count)] += row[size_t(unknown[size_t(i)])] * equations.right[r];
    }
  for (int pivot = 0; pivot < count; ++pivot) {
    int best = pivot;
    for (int i = pivot; i < count; ++i)
      if (std::abs(system[size_t(i)][size_t(pivot)]) > std::abs(system[size_t(best)][size_t(pivot)]))
        best = i;
    std::swap(system[size_t(pivot)], system[size_t(best)]);
    const double value = system[size_t(pivot)][size_t(pivot)];
    if (std::abs(value) < 1e-9) return false;
    for (int i = 0; i < count; ++i) {
      if (i == pivot) continue;
      const double factor = system[size_t(i)][size_t(pivot)] / value;
      for (int j = pivot; j <= count; ++j)
        system[size_t(i)][size_t(j)] -= factor * system[size_t(pivot)][size_t(j)];
    }
  }
  solution = {};
  for (int i = 0; i < count; ++i)
    solution[size_t(unknown[size_t(i)])] = system[size_t(i)][size_t(count)] / system[size_t(i)][size_t(i)];
  return true;
}

Row best_solution(const Equations& equations) {
  Row best{};
  double least = std::numeric_limits<double>::infinity();
  for (unsigned subset = 1; subset < 1u << kUnknowns; ++subset) {
    Row solution{};
    if (!solve(equations, subset, solution)) continue;
    if (std::any_of(solution.begin(), solution.end(), [](double value) { return value < 0; })) continue;
    double squares = 0;
    for (size_t r = 0; r < equations.rows.size(); ++r) {
      double sum = -equations.right[r];
      for (size_t u = 0; u < kUnknowns; ++u) sum += equations.rows[r][u] * solution[u];
      squares += sum * sum;
    }
    if (squares < least) least = squares, best = solution;
  }
  return best;
}

}  // namespace

PassFit StepFit::sum() const {
  PassFit all;
  for (const PassFit& pass : passes) {
    all.linear += pass.linear, all.quadratic += pass.quadratic, all.segment += pass.segment;
    all.remote += pass.remote, all.split_row += pass.split_row, all.wave += pass.wave;
  }
  return all;
}

void StepFit::apply_to(CostModel& cost) const {
  const PassFit all = sum();
  const PassFit &forward = passes[size_t(Pass::kForward)], &recompute = passes[size_t(Pass::kRecompute)];
  cost.linear_ns = all.linear;
  cost.linear_forward_ns = forward.linear;
  cost.linear_recompute_ns = recompute.linear;
  cost.quadratic_ns = all.quadratic;
  cost.quadratic_forward_ns = forward.quadratic;
  cost.quadratic_recompute_ns = recompute.quadratic;
  cost.short_block_tokens = all.quadratic > 0 ? std::round(all.split_row / all.quadratic) : 0;
  cost.exchange_ns = all.remote;
  cost.sample_overhead_ns = all.segment;
  cost.wave_overhead_ns = all.wave;
  cost.fit_error = largest_error;
}

StepFit fit_steps(const std::vector<StepSample>& samples) {
  ZT_CHECK(!samples.empty(), "a fit of no samples");
  Row scale{};  // columns of like size keep the normal equations well conditioned
  std::vector<Row> rows;
  for (const StepSample& s : samples) {
    ZT_CHECK(s.total_ns() > 0, "a step measured as ", s.total_ns(), " ns");
    Row row = row_of(s);
    for (size_t u = 0; u < kUnknowns; ++u) {
      row[u] /= std::sqrt(s.total_ns());
      scale[u] = std::max(scale[u], row[u]);
    }
    rows.push_back(row);
  }
  for (Row& row : rows)
    for (size_t u = 0; u < kUnknowns; ++u) row[u] = scale[u] > 0 ? row[u] / scale[u] : 0;
  StepFit fit;
  for (size_t pass = 0; pass < size_t(kPasses); ++pass) {
    Equations equations{rows, {}};
    double unit = 0;
    for (const StepSample& s : samples) {
      equations.right.push_back(s.ns[pass] / std::sqrt(s.total_ns()));
      unit = std::max(unit, equations.right.back());
    }
    if (unit == 0) continue;
    for (double& right : equations.right) right /= unit;
    Row found = best_solution(equations);
    for (size_t u = 0; u < kUnknowns; ++u) found[u] = scale[u] > 0 ? found[u] * unit / scale[u] : 0;
    fit.passes[pass] = {found[0], found[1], found[2], found[3], found[4], found[5]};
  }
  std::vector<double> errors;
  for (const StepSample& s : samples) errors.push_back(std::abs(fit.predict(s) / s.total_ns() - 1));
  fit.largest_error = *std::max_element(errors.begin(), errors.end());
  fit.median_error = median(errors);
  return fit;
}

}  // namespace zoetrope
