// Cost sets by name. From data sheets: a start where nobody has run `zoetrope profile`; none of them was
// measured, and a profile of the machine and the model replaces them. On paper: whole numbers, so that anyone
// can recompute a plan's figures.
#include <charconv>
#include <filesystem>

#include "core/check.h"
#include "schedule/cost.h"

namespace zoetrope {
namespace {

/// What the sets assume of a processor: sustained rates, not peaks.
struct Processor {
  const char* name;
  const char* device;
  double gemm_flops, attention_flops;  ///< FLOP/s
  double link_bytes;                   ///< bytes/s of one rank, one direction
  double exchange_ns, segment_ns, wave_ns;
  int64_t ranks_per_node;
};

/// What they assume of the network. Forward + backward: products 3 x forward, attention 3.5 x forward.
struct Network {
  double width, layers, ffn, bytes_per_value;
};

CostModel set_of(const Processor& processor, const Network& network) {
  const double d = network.width, layers = network.layers;
  const double weights = layers * (6 * d * d + 2 * d * network.ffn);
  CostModel cost;
  cost.name = processor.name;
  cost.device = processor.device;
  cost.linear_ns = 1e9 * 3 * 2 * weights / processor.gemm_flops;
  cost.quadratic_ns = 1e9 * 3.5 * 4 * d * layers / processor.attention_flops;
  // K, V forward; K, V and dK, dV backward.
  cost.transfer_ns = 1e9 * 6 * d * network.bytes_per_value * layers / processor.link_bytes;
  cost.latency_ns = processor.exchange_ns * layers * 3;
  cost.sample_overhead_ns = processor.segment_ns * layers;
  cost.wave_overhead_ns = processor.wave_ns * layers;
  cost.ranks_per_node = processor.ranks_per_node;
  return cost;
}

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
  if (!std::filesystem::exists(name_or_path))
    throw UsageError(join_message("cost set '", name_or_path, "' is neither a file nor a built-in set (",
                                  names, ") nor one on paper (", kPaperNames,
                                  "); 'zoetrope profile --out FILE' measures this machine"));
  return read_cost(name_or_path);
}

const std::vector<CostModel>& built_in_costs() {
  static const std::vector<CostModel> sets = [] {
    const Network small{128, 4, 512, 4};      // the embedded default model, f32
    const Network large{5120, 40, 13824, 2};  // Wan-14B sizes, bf16
    return std::vector<CostModel>{
        set_of({"data-sheet", "one processor core, data-sheet rates, width 128, 4 layers, f32", 60e9, 40e9,
                5e9, 10e3, 20e3, 200e3, 1},
               small),
        set_of({"a100", "A100 80 GB with NVLink, data-sheet rates, Wan-14B sizes, bf16", 190e12, 170e12,
                240e9, 10e3, 10e3, 150e3, 8},
               large),
        set_of({"h100", "H100 SXM with NVLink, data-sheet rates, Wan-14B sizes, bf16", 500e12, 500e12, 300e9,
                10e3, 10e3, 100e3, 8},
               large),
        set_of({"h200", "H200 SXM with NVLink, data-sheet rates, Wan-14B sizes, bf16", 500e12, 500e12, 300e9,
                10e3, 10e3, 100e3, 8},
               large),
        set_of({"h100-infiniband", "H100, 400 Gb/s link per GPU, data-sheet rates, Wan-14B sizes, bf16",
                500e12, 500e12, 45e9, 20e3, 10e3, 100e3, 8},
               large),
        set_of({"pcie", "GPU of H100 speed on PCIe, data-sheet rates, Wan-14B sizes, bf16", 500e12, 500e12,
                20e9, 15e3, 10e3, 100e3, 8},
               large)};
  }();
  return sets;
}

}  // namespace zoetrope
