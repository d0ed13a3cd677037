// Built-in cost sets from data sheets: a start where nobody has run `zoetrope profile`. None of them was
// measured; a profile of the machine and the model replaces them.
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

}  // namespace

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
