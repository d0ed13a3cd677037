// Five unknowns: every subset of them is solved by its normal equations, and the best solution without a
// negative coefficient wins. Thirty-two small systems, no iteration, the same result everywhere.
#include "tools/profile_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace zoetrope {
namespace {

constexpr int kUnknowns = 5;
using Row = std::array<double, kUnknowns>;

/// Solves the normal equations of the unknowns in `subset`; false when they are singular.
bool solve(const std::vector<Row>& rows, unsigned subset, Row& solution) {
  std::array<std::array<double, kUnknowns + 1>, kUnknowns> system{};
  std::array<int, kUnknowns> unknown{};
  int count = 0;
  for (int u = 0; u < kUnknowns; ++u)
    if (subset >> u & 1) unknown[size_t(count++)] = u;
  for (int i = 0; i < count; ++i)
    for (const Row& row : rows) {
      for (int j = 0; j < count; ++j)
        system[size_t(i)][size_t(j)] += row[size_t(unknown[size_t(i)])] * row[size_t(unknown[size_t(j)])];
      system[size_t(i)][size_t(count)] += row[size_t(unknown[size_t(i)])];  // every right-hand side is 1
    }
  for (int pivot = 0; pivot < count; ++pivot) {
    int best = pivot;
    for (int i = pivot; i < count; ++i)
      if (std::abs(system[size_t(i)][size_t(pivot)]) > std::abs(system[size_t(best)][size_t(pivot)]))
        best = i;
    std::swap(system[size_t(pivot)], system[size_t(best)]);
    const double value = system[size_t(pivot)][size_t(pivot)];
    if (std::abs(value) < 1e-12) return false;
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

}  // namespace

StepFit fit_steps(const std::vector<StepSample>& samples) {
  ZT_CHECK(!samples.empty(), "a fit of no samples");
  Row scale{};  // columns of like size keep the normal equations well conditioned
  for (const StepSample& s : samples) {
    ZT_CHECK(s.ns > 0, "a step measured as ", s.ns, " ns");
    const Row row{s.tokens / s.ns, s.pairs / s.ns, s.segments / s.ns, s.remote / s.ns, s.waves / s.ns};
    for (size_t u = 0; u < kUnknowns; ++u) scale[u] = std::max(scale[u], row[u]);
  }
  for (double& value : scale) value = value > 0 ? value : 1;
  std::vector<Row> rows;  // relative: coefficient * size / time = 1
  for (const StepSample& s : samples)
    rows.push_back({s.tokens / s.ns / scale[0], s.pairs / s.ns / scale[1], s.segments / s.ns / scale[2],
                    s.remote / s.ns / scale[3], s.waves / s.ns / scale[4]});
  Row best{};
  double least = std::numeric_limits<double>::infinity();
  for (unsigned subset = 1; subset < 1u << kUnknowns; ++subset) {
    Row solution{};
    if (!solve(rows, subset, solution)) continue;
    if (std::any_of(solution.begin(), solution.end(), [](double value) { return value < 0; })) continue;
    double squares = 0;
    for (const Row& row : rows) {
      double sum = -1;
      for (size_t u = 0; u < kUnknowns; ++u) sum += row[u] * solution[u];
      squares += sum * sum;
    }
    if (squares < least) least = squares, best = solution;
  }
  StepFit fit{best[0] / scale[0], best[1] / scale[1], best[2] / scale[2],
              best[3] / scale[3], best[4] / scale[4], 0};
  for (const StepSample& s : samples)
    fit.largest_error = std::max(fit.largest_error, std::abs(fit.predict(s) / s.ns - 1));
  return fit;
}

}  // namespace zoetrope
