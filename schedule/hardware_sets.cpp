// Built-in cost sets from data sheets: a start where nobody has run `zoetrope profile`. None of them was
// measured; a profile of the machine and the model replaces them.
#include "core/check.h"
#include "schedule/cost.h"

namespace zoetrope {
namespace {

/// What the sets assume of a processor: sustained rates, not peaks.
struct Processor {
  const char* name;
  const char* device;
  double peak_flops, gemm_flops, attention_flops;  ///< FLOP/s; the peak is the data sheet's, 0: none
  double link_bytes, between_bytes;         ///< bytes/s of one rank, one direction, inside and between nodes
  double exchange_ns, exchange_between_ns;  ///< start of one transfer
  double segment_ns, wave_ns;               ///< per layer
  int64_t ranks_per_node;
};

/// What they assume of the network. Units are forward passes.
struct Network {
  const char* name;
  double width, layers, weights;  ///< weights of a layer's products that see every token
  int64_t num_heads;
  double bytes_per_value;
  double linear_units, attention_units;
  bool recomputes;   ///< one forward pass of the units is a second one
  double exchanges;  ///< times that keys and values go round: forward, recompute, backward twice
};

// Full recompute: products 1 + 1 + 2 forward passes, attention 1 + 1 + 2.5. Keys and values go round in
// forward and recompute, with their gradients in backward; heads are exchanged for tokens in all three.
const Network kWan14b{"wan-14b", 5120, 40, 6 * 5120.0 * 5120 + 2 * 5120.0 * 13824, 40, 2, 4, 4.5, true, 4};
const Network kWan1b{"wan-1.3b", 1536, 30, 6 * 1536.0 * 1536 + 2 * 1536.0 * 8960, 12, 2, 4, 4.5, true, 4};
const Network kText7b{"text-7b", 4096, 32, 4 * 4096.0 * 4096 + 3 * 4096.0 * 11008, 32, 2, 4, 4.5, true, 4};
/// The embedded default model, f32, nothing recomputed.
const Network kSmall{"", 128, 4, 6 * 128.0 * 128 + 2 * 128.0 * 512, 0, 4, 3, 3.5, false, 3};

CostModel set_of(const Processor& processor, const Network& network) {
  const double d = network.width, layers = network.layers, bytes = d * network.bytes_per_value * layers;
  CostModel cost;
  cost.name = processor.name;
  if (network.num_heads > 0) cost.name += std::string(":") + network.name;
  cost.device = processor.device;
  cost.linear_ns = 1e9 * network.linear_units * 2 * layers * network.weights / processor.gemm_flops;
  cost.quadratic_ns = 1e9 * network.attention_units * 4 * d * layers / processor.attention_flops;
  const auto transfer_ns = [&](double rate) { return 1e9 * 2 * network.exchanges * bytes / rate; };
  cost.transfer_ns = transfer_ns(processor.link_bytes);
  cost.latency_ns = processor.exchange_ns * layers * 3;
  cost.sample_overhead_ns = processor.segment_ns * layers;
  cost.wave_overhead_ns = processor.wave_ns * layers;
  cost.num_layers = int64_t(layers);
  cost.gemm_flops = processor.peak_flops;
  cost.linear_flops = 3 * 2 * layers * network.weights;
  cost.quadratic_flops = 3.5 * 4 * d * layers;
  cost.linear_forward_ns = cost.linear_ns / network.linear_units;
  cost.quadratic_forward_ns = cost.quadratic_ns / network.attention_units;
  if (network.recomputes) {
    cost.linear_recompute_ns = cost.linear_forward_ns;
    cost.quadratic_recompute_ns = cost.quadratic_forward_ns;
  }
  cost.ranks_per_node = processor.ranks_per_node;
  if (network.num_heads == 0) return cost;
  cost.transfer_between_ns = transfer_ns(processor.between_bytes);
  cost.latency_between_ns = processor.exchange_between_ns * layers * 3;
  cost.num_heads = network.num_heads;
  cost.all_to_all_ns = 1e9 * 3 * 4 * bytes / processor.link_bytes;  // Q, K, V and the output, three passes
  cost.short_block_tokens = 512;
  return cost;
}

// name, device, products, attention, links inside and between, transfers, per segment and wave, node
const Processor kCore{"data-sheet",
                      "one processor core, data-sheet rates, width 128, 4 layers, f32",
                      0,
                      60e9,
                      40e9,
                      5e9,
                      5e9,
                      10e3,
                      10e3,
                      20e3,
                      200e3,
                      1};
const Processor kGpus[] = {
    {"a100", "A100 80 GB, NVLink 240 GB/s, 22 GB/s between nodes, data-sheet rates, bf16, full recompute",
     312e12, 190e12, 170e12, 240e9, 22e9, 10e3, 20e3, 2e3, 100e3, 8},
    {"h100", "H100 SXM, NVLink 300 GB/s, 45 GB/s between nodes, data-sheet rates, bf16, full recompute",
     989e12, 500e12, 500e12, 300e9, 45e9, 10e3, 20e3, 2e3, 100e3, 8},
    {"h200", "H200 SXM, NVLink 300 GB/s, 45 GB/s between nodes, data-sheet rates, bf16, full recompute",
     989e12, 500e12, 500e12, 300e9, 45e9, 10e3, 20e3, 2e3, 100e3, 8},
    {"b200", "B200 SXM, NVLink 600 GB/s, 45 GB/s between nodes, data-sheet rates, bf16, full recompute",
     2250e12, 1100e12, 1000e12, 600e9, 45e9, 10e3, 20e3, 2e3, 100e3, 8},
    {"pcie", "GPU of H100 speed, PCIe 20 GB/s, 12 GB/s between nodes, data-sheet rates, bf16, full recompute",
     989e12, 500e12, 500e12, 20e9, 12e9, 15e3, 25e3, 2e3, 100e3, 8}};

}  // namespace

const std::vector<CostModel>& built_in_costs() {
  static const std::vector<CostModel> sets = [] {
    std::vector<CostModel> all{set_of(kCore, kSmall)};
    for (const Processor& gpu : kGpus)
      for (const Network* network : {&kWan14b, &kWan1b, &kText7b}) {
        all.push_back(set_of(gpu, *network));
        if (network == &kWan14b) all.back().name = gpu.name;
      }
    return all;
  }();
  return sets;
}

}  // namespace zoetrope
