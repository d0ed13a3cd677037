#include "parallel/selftest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "parallel/gather.h"
#include "parallel/selftest_model.h"

namespace zoetrope {
namespace {

/// Unit roundoff of the products.
double unit_of(Precision precision) {
  switch (precision.compute) {
    case DType::kBF16: return 0x1p-8;
    case DType::kF64: return 0x1p-53;
    default: return 0x1p-24;
  }
}

/// Largest |a - b| of a range; NaN counts as infinite.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b, int64_t begin,
                          int64_t end) {
  double largest = 0;
  for (size_t i = size_t(begin); i < size_t(end); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    largest =
        std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(largest, difference);
  }
  return largest;
}

/// One-rank runs of a set of samples that differ in summation alone; the first is the one to compare with.
using Alone = std::vector<StepOutcome>;

/// The loss as the first value, so that it is compared like a tensor.
struct Range {
  std::string name;
  int64_t begin = 0, end = 0;
};
std::vector<Range> ranges_of(const Parameters& parameters) {
  std::vector<Range> ranges;
  for (const Parameter& p : parameters.list()) ranges.push_back({p.name, p.offset, p.offset + p.size});
  return ranges;
}

/// Source: notes in docs; four times the largest difference among the one-rank runs, never below 16 u of the
/// largest value.
double tolerance_of(const Alone& alone, const Range& range, double unit) {
  double largest = 0, spread = 0;
  for (int64_t i = range.begin; i < range.end; ++i)
    largest = std::max(largest, std::abs(alone[0].gradients[size_t(i)]));
  for (size_t a = 0; a < alone.size(); ++a)
    for (size_t b = a + 1; b < alone.size(); ++b)
      spread = std::max(spread,
                        largest_difference(alone[a].gradients, alone[b].gradients, range.begin, range.end));
  return std::max(4 * spread, 16 * unit * largest);
}

double loss_tolerance(const Alone& alone, double unit) {
  double spread = 0;
  for (const StepOutcome& a : alone)
    for (const StepOutcome& b : alone) spread = std::max(spread, std::abs(a.loss - b.loss));
  return std::max(4 * spread, 16 * unit * std::abs(alone[0].loss));
}

void take_worst(SelftestRow& row, const std::string& name, double deviation, double tolerance) {
  const double ratio = deviation == 0 ? 0 : deviation / tolerance;
  if (!row.worst_tensor.empty() && !(ratio > row.ratio)) return;
  row.worst_tensor = name;
  row.deviation = deviation;
  row.tolerance = tolerance;
  row.ratio = ratio;
}

uint64_t hash_of(const StepOutcome& outcome) {
  const char* bytes = reinterpret_cast<const char*>(outcome.gradients.data());
  const uint64_t gradients = fnv1a({bytes, outcome.gradients.size() * sizeof(double)});
  return fnv1a({reinterpret_cast<const char*>(&outcome.loss), sizeof outcome.loss}, gradients);
}

SelftestRow compare(Comm& comm, SelftestModel& model, const SelftestCase& test, const Alone& alone,
                    double unit) {
  const StepOutcome first = model.run_plan(test), again = model.run_plan(test);
  SelftestRow row;
  row.name = test.name;
  row.waves = int64_t(test.plan.waves.size());
  for (const Wave& wave : test.plan.waves)
    for (const RingView& ring : split_samples(wave)) {
      ++row.rings;
      row.largest_ring = std::max(row.largest_ring, int64_t(ring.members.size()));
    }
  row.loss = first.loss;
  row.one_rank_loss = alone[0].loss;
  const double loss_deviation = std::abs(first.loss - alone[0].loss);
  take_worst(row, "loss",
             std::isnan(loss_deviation) ? std::numeric_limits<double>::infinity() : loss_deviation,
             loss_tolerance(alone, unit));
  for (const Range& range : ranges_of(model.parameters()))
    take_worst(row, range.name,
               largest_difference(first.gradients, alone[0].gradients, range.begin, range.end),
               tolerance_of(alone, range, unit));
  const uint64_t hash = hash_of(first);
  row.bit_equal = hash == hash_of(again);
  for (const uint64_t other : gather_values(comm, hash)) row.bit_equal = row.bit_equal && other == hash;
  row.bit_equal = comm.all_reduce_max(row.bit_equal ? 0 : 1) == 0;
  return row;
}

}  // namespace

double SelftestReport::worst_ratio() const {
  double worst = 0;
  for (const SelftestRow& row : rows) worst = std::max(worst, row.ratio);
  return worst;
}

bool SelftestReport::passed() const {
  return !rows.empty() &&
         std::ranges::all_of(rows, [](const SelftestRow& row) { return row.bit_equal && row.ratio <= 1; });
}

SelftestReport run_selftest(Comm& comm, const SelftestOptions& options) {
  std::vector<SelftestCase> cases = selftest_cases(comm.size(), options.random_plans, options.seed);
  int64_t number = 0;
  std::erase_if(cases, [&](const SelftestCase&) { return ++number % options.every != 0; });
  int64_t max_tokens = 0, max_segments = 0;
  for (const SelftestCase& test : cases) {
    int64_t total = 0;
    for (const int64_t tokens : test.lengths()) total += tokens;
    max_tokens = std::max(max_tokens, total);
    max_segments = std::max(max_segments, int64_t(test.samples.size()));
  }
  SelftestModel model(options, comm, max_tokens, max_segments);
  std::map<std::vector<int64_t>, Alone> alone;  // by lengths: cases share their samples
  SelftestReport report;
  report.ranks = comm.size();
  for (const SelftestCase& test : cases) {
    Alone& runs = alone[test.lengths()];
    if (runs.empty())
      for (const Summation summation :
           {Summation::kPlain, Summation::kHalvedKeys, Summation::kReversedKeys, Summation::kReversedPack})
        runs.push_back(model.run_alone(test, summation));
    report.rows.push_back(compare(comm, model, test, runs, unit_of(options.precision)));
  }
  return report;
}

std::string selftest_to_json(const SelftestReport& report) {
  nlohmann::ordered_json json;
  json["ranks"] = report.ranks;
  json["passed"] = report.passed();
  json["worst_ratio"] = report.worst_ratio();
  json["rows"] = nlohmann::ordered_json::array();
  for (const SelftestRow& row : report.rows)
    json["rows"].push_back({{"name", row.name},
                            {"waves", row.waves},
                            {"rings", row.rings},
                            {"largest_ring", row.largest_ring},
                            {"loss", row.loss},
                            {"one_rank_loss", row.one_rank_loss},
                            {"worst_tensor", row.worst_tensor},
                            {"deviation", row.deviation},
                            {"tolerance", row.tolerance},
                            {"ratio", row.ratio},
                            {"bit_equal", row.bit_equal}});
  return json.dump(2);
}

}  // namespace zoetrope
