// Cost sets by name: built-in ones, and ones on paper for figures that anyone can recompute.
#include <charconv>
#include <filesystem>

#include "core/check.h"
#include "schedule/cost.h"
#include "schedule/hardware_files.h"

namespace zoetrope {
namespace {

/// Of one token of a DiT of width 3072 in pairs of tokens: six products of width x width against attention.
constexpr double kPaperLinear = 6 * 3072;

/// A pair of tokens costs 1, a rank is done when its own work is, and nothing else costs anything.
CostModel paper_set(const std::string& name, double linear, double hidden_by) {
  CostModel cost;
  cost.name = name;
  cost.device = "on paper, a pair of tokens costs 1 ns";
  cost.linear_ns = linear;
  cost.quadratic_ns = 1;
  cost.transfer_ns = hidden_by;
  cost.latency_ns = cost.sample_overhead_ns = cost.wave_overhead_ns = 0;
  cost.mates_end_together = false;
  return cost;
}

constexpr const char kPaperNames[] =
    "square, square-linear, ring:H for H tokens that just hide their block's transfer";

}  // namespace

std::optional<CostModel> find_paper_cost(const std::string& name) {
  if (name == "square") return paper_set(name, 0, 0);
  if (name == "square-linear") return paper_set(name, kPaperLinear, 0);
  if (!name.starts_with("ring:")) return {};
  constexpr int64_t kMostHidden = 1 << 24;
  const std::string digits = name.substr(5);
  int64_t hidden_by = -1;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), hidden_by);
  if (code != std::errc() || end != digits.data() + digits.size() || hidden_by < 0 || hidden_by > kMostHidden)
    throw UsageError(join_message("cost set '", name, "': found '", digits,
                                  "' after 'ring:', expected a whole number of tokens from 0 to ",
                                  kMostHidden, " (ring:1700 is like NVLink, 11000 InfiniBand, 25000 PCIe)"));
  return paper_set(name, kPaperLinear, double(hidden_by));
}

CostModel find_cost(const std::string& name_or_path) {
  if (const std::optional<CostModel> paper = find_paper_cost(name_or_path)) return *paper;
  std::string names;
  for (const CostModel& set : built_in_costs()) {
    if (set.name == name_or_path) return set;
    names += (names.empty() ? "" : ", ") + set.name;
  }
  if (!std::filesystem::exists(name_or_path)) {
    if (const std::optional<std::string> file = find_hardware_file(name_or_path)) return read_cost(*file);
    std::string measured;
    for (const std::string& name : hardware_names()) measured += (measured.empty() ? "" : ", ") + name;
    throw UsageError(join_message("cost set '", name_or_path, "' is neither a file nor a built-in set (",
                                  names, ") nor a measured machine of configs/hardware (",
                                  measured.empty() ? "none here" : measured, ") nor one on paper (",
                                  kPaperNames, "); 'zoetrope profile --out FILE' measures this machine"));
  }
  return read_cost(name_or_path);
}

}  // namespace zoetrope
