// Built-in cost sets from data sheets: a start where nobody has run `zoetrope profile`. None of them was
// measured; a profile of the machine and the model replaces them.
#include "core/check.h"
#include "schedule/cost.h"
#include "schedule/data_sheets.h"

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
  double memory_bytes = 0;
};

/// What they assume of the network and of how it is trained. Units are forward passes.
struct Network {
  NetworkShape shape;
  int64_t num_heads;  ///< that schemes other than the ring may split
  double bytes_per_value;
  double linear_units, attention_units;
  bool recomputes_products, recomputes_attention;  ///< one forward pass of the units is a second one
  double exchanges;  ///< times that keys and values go round: forward, recompute, backward twice
};

// Full recompute: products 1 + 1 + 2 forward passes, attention 1 + 1 + 2.5. Keys and values go round in
// forward and recompute, with their gradients in backward; heads are exchanged for tokens in all three.
Network network_of(const NetworkShape& shape, Recompute recompute) {
  const bool products = recompute != Recompute::kNone, attention = recompute == Recompute::kFull;
  return {shape,     shape.num_heads,      2, products ? 4.0 : 3.0, attention ? 4.5 : 3.5, products,
          attention, attention ? 4.0 : 3.0};
}
/// The embedded default model, f32, nothing recomputed.
const Network kSmall{{"", 128, 4, 2, 512, 2, 32, 128, 3, 0}, 0, 4, 3, 3.5, false, false, 3};

CostModel set_of(const Processor& processor, const Network& network) {
  const double d = double(network.shape.width), layers = double(network.shape.num_layers),
               bytes = d * network.bytes_per_value * layers, weights = network.shape.token_weights();
  CostModel cost;
  cost.name = processor.name;
  if (network.num_heads > 0) cost.name += ":" + network.shape.name;
  cost.device = processor.device;
  cost.linear_ns = 1e9 * network.linear_units * 2 * layers * weights / processor.gemm_flops;
  cost.quadratic_ns = 1e9 * network.attention_units * 4 * d * layers / processor.attention_flops;
  const auto transfer_ns = [&](double rate) { return 1e9 * 2 * network.exchanges * bytes / rate; };
  cost.transfer_ns = transfer_ns(processor.link_bytes);
  cost.latency_ns = processor.exchange_ns * layers * 3;
  cost.sample_overhead_ns = processor.segment_ns * layers;
  cost.wave_overhead_ns = processor.wave_ns * layers;
  cost.num_layers = int64_t(layers);
  cost.gemm_flops = processor.peak_flops;
  cost.linear_flops = 3 * 2 * layers * weights;
  cost.quadratic_flops = 3.5 * 4 * d * layers;
  cost.linear_forward_ns = cost.linear_ns / network.linear_units;
  cost.quadratic_forward_ns = cost.quadratic_ns / network.attention_units;
  if (network.recomputes_products) cost.linear_recompute_ns = cost.linear_forward_ns;
  if (network.recomputes_attention) cost.quadratic_recompute_ns = cost.quadratic_forward_ns;
  cost.ranks_per_node = processor.ranks_per_node;
  if (network.num_heads == 0) return cost;
  cost.transfer_between_ns = transfer_ns(processor.between_bytes);
  cost.latency_between_ns = processor.exchange_between_ns * layers * 3;
  cost.num_heads = network.num_heads;
  cost.all_to_all_ns =
      1e9 * (network.exchanges - 1) * 4 * bytes / processor.link_bytes;  // Q, K, V and the output, each pass
  cost.short_block_tokens = 512;
  return cost;
}

// name, device, products, attention, links inside and between, transfers, per segment and wave, node, memory
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
     312e12, 190e12, 170e12, 240e9, 22e9, 10e3, 20e3, 2e3, 100e3, 8, 80e9},
    {"h100", "H100 SXM, NVLink 300 GB/s, 45 GB/s between nodes, data-sheet rates, bf16, full recompute",
     989e12, 500e12, 500e12, 300e9, 45e9, 10e3, 20e3, 2e3, 100e3, 8, 80e9},
    {"h200", "H200 SXM, NVLink 300 GB/s, 45 GB/s between nodes, data-sheet rates, bf16, full recompute",
     989e12, 500e12, 500e12, 300e9, 45e9, 10e3, 20e3, 2e3, 100e3, 8, 141e9},
    {"b200", "B200 SXM, NVLink 600 GB/s, 45 GB/s between nodes, data-sheet rates, bf16, full recompute",
     2250e12, 1100e12, 1000e12, 600e9, 45e9, 10e3, 20e3, 2e3, 100e3, 8, 192e9},
    {"pcie", "GPU of H100 speed, PCIe 20 GB/s, 12 GB/s between nodes, data-sheet rates, bf16, full recompute",
     989e12, 500e12, 500e12, 20e9, 12e9, 15e3, 25e3, 2e3, 100e3, 8, 80e9}};

/// "h100" of "h100:wan-14b".
std::string processor_of(const std::string& name) { return name.substr(0, name.find(':')); }

const Processor* find_gpu(const std::string& name) {
  for (const Processor& gpu : kGpus)
    if (gpu.name == processor_of(name)) return &gpu;
  return nullptr;
}

}  // namespace

std::optional<CostModel> find_data_sheet(const std::string& name, const NetworkShape& shape,
                                         Recompute recompute) {
  const Processor* gpu = find_gpu(name);
  if (gpu == nullptr) return {};
  const std::string processor = gpu->name;
  if (name != processor && name != processor + ":" + shape.name)
    throw UsageError(join_message("cost set '", name, "' is of another network than '", shape.name,
                                  "'; give --cost ", processor));
  CostModel cost = set_of(*gpu, network_of(shape, recompute));
  const std::string& device = cost.device;
  cost.device = device.substr(0, device.rfind(", ")) + (recompute == Recompute::kFull ? ", full recompute"
                                                        : recompute == Recompute::kSelective
                                                            ? ", attention not recomputed"
                                                            : ", no recompute");
  return cost;
}

int64_t data_sheet_memory(const CostModel& cost) {
  const Processor* gpu = find_gpu(cost.name);
  return gpu == nullptr ? 0 : int64_t(0.9 * gpu->memory_bytes);
}

const std::vector<CostModel>& built_in_costs() {
  static const std::vector<CostModel> sets = [] {
    std::vector<CostModel> all{set_of(kCore, kSmall)};
    for (const Processor& gpu : kGpus)
      for (const NetworkShape& shape : network_shapes()) {
        all.push_back(set_of(gpu, network_of(shape, Recompute::kFull)));
        if (&shape == &network_shapes().front()) all.back().name = gpu.name;
      }
    return all;
  }();
  return sets;
}

}  // namespace zoetrope
