// What a shard costs: time in integer nanoseconds, memory in bytes. Numbers come from a file that
// `zoetrope profile` wrote, or from a built-in data-sheet set; planning never times anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/cluster.h"
#include "schedule/plan.h"

namespace zoetrope {

/// Forward and backward together, per rank. A shard of k tokens of a sample of S tokens on a ring with
/// other blocks b_1, b_2, ... costs
///   linear k + quadratic k (k + short)
///   + sum over j of (max(quadratic k (b_j + short), transfer b_j + latency) + exchange b_j),
/// a whole sample linear S + quadratic S S, a segment costs `sample_overhead` more, and a wave
/// `wave_overhead`. Other exchange schemes and links between nodes: ring_price.h.
struct CostModel {
  std::string name = "data-sheet";
  std::string device = "unknown", date = "";
  double linear_ns = 1000;    ///< per token
  double quadratic_ns = 0.5;  ///< per token pair
  double transfer_ns = 100;   ///< per token of a remote block (K, V forward; K, V, dK, dV backward)
  double latency_ns = 20000;  ///< per exchange step, forward and backward
  double exchange_ns =
      0;  ///< per token of a remote block that compute pays for: packing, copies, sums; never hidden
  double transfer_between_ns = 0;  ///< as transfer_ns, for rings over several nodes; 0: the same
  double latency_between_ns = 0;   ///< as latency_ns, for rings over several nodes; 0: the same
  int64_t num_heads = 0;           ///< heads that other schemes than the ring may split; 0: rings only
  double all_to_all_ns = 0;        ///< per own token, of exchanging tokens for heads and back; never hidden
  double short_block_tokens = 0;   ///< a split sample's blocks cost attention as if so much longer
  double sample_overhead_ns = 20000;  ///< per segment
  double wave_overhead_ns = 200000;   ///< per micro-batch
  double allreduce_ns = 0;            ///< gradient all-reduce per step, added once
  double optimizer_ns = 0;      ///< of every rank, once per step after it: norm, update, prepared weights;
                                ///< no plan changes it, so simulated steps have it and makespans don't
  double gemm_flops = 0;        ///< peak of this rank, for shares of it; 0: not measured
  int64_t memory_per_rank = 0;  ///< bytes; 0: not given
  int64_t ranks_per_node = 1;
  double fit_error = 0;    ///< largest relative error of the fit
  int64_t num_layers = 0;  ///< blocks of the model; 0: not known
  /// Parts of linear_ns and quadratic_ns that the forward pass takes, and that running it again in the
  /// backward pass takes; what remains is the backward pass. forward 0: not measured apart; recompute 0:
  /// none.
  double linear_forward_ns = 0, linear_recompute_ns = 0, quadratic_forward_ns = 0, quadratic_recompute_ns = 0;
  double linear_flops = 0, quadratic_flops = 0;  ///< useful, per token and pair, no recompute; 0: not known
  /// Ring mates end a wave together, as they do on any machine. Built-in sets for figures on paper say no:
  /// there a rank is free when its own work is done. Not in files.
  bool mates_end_together = true;
  void visit(auto&& field) {
    field("name", name, "name of this cost set");
    field("device", device, "processor it was measured on");
    field("date", date, "day of the measurement");
    field("linear-ns", linear_ns, "ns per token, forward and backward");
    field("quadratic-ns", quadratic_ns, "ns per pair of tokens, forward and backward");
    field("transfer-ns", transfer_ns, "ns per remote token, forward and backward");
    field("latency-ns", latency_ns, "ns per exchange step, forward and backward");
    field("exchange-ns", exchange_ns,
          "ns of a rank's own time per remote token, never hidden: packing, copies, sums");
    field("transfer-between-ns", transfer_between_ns,
          "ns per remote token for rings over several nodes; 0: as inside a node");
    field("latency-between-ns", latency_between_ns,
          "ns per exchange step for rings over several nodes; 0: as inside a node");
    field("num-heads", num_heads, "heads that exchange schemes other than the ring may split; 0: rings only");
    field("all-to-all-ns", all_to_all_ns,
          "ns per own token of exchanging tokens for heads and back, forward and backward");
    field("short-block-tokens", short_block_tokens,
          "tokens by which attention to a block of a split sample costs more");
    field("sample-overhead-ns", sample_overhead_ns, "ns per segment");
    field("wave-overhead-ns", wave_overhead_ns, "ns per micro-batch");
    field("allreduce-ns", allreduce_ns, "ns per step for the gradient all-reduce");
    field("optimizer-ns", optimizer_ns, "ns per step for gradient norm, optimizer and prepared weights");
    field("gemm-flops", gemm_flops,
          "best product rate of one rank, FLOP/s, measured or of a data sheet; 0: not known");
    field("memory-per-rank", memory_per_rank, "bytes that a rank may use");
    field("ranks-per-node", ranks_per_node, "ranks that share the node's memory");
    field("num-layers", num_layers, "blocks of the model; 0: not known");
    field("linear-forward-ns", linear_forward_ns, "part of linear-ns that the forward pass takes");
    field("linear-recompute-ns", linear_recompute_ns, "part of linear-ns that recomputing takes");
    field("quadratic-forward-ns", quadratic_forward_ns, "part of quadratic-ns that the forward pass takes");
    field("quadratic-recompute-ns", quadratic_recompute_ns, "part of quadratic-ns that recomputing takes");
    field("linear-flops", linear_flops, "useful FLOP per token, forward and backward; 0: not known");
    field("quadratic-flops", quadratic_flops, "useful FLOP per pair of tokens, forward and backward");
    field("fit-error", fit_error, "largest relative error of the fit");
  }
};

/// One table [cost]. Files from before they were measured lack `exchange-ns` and what links between nodes and
/// other schemes take, and planned with none, which 0 says; every other field must be there. Throws:
/// UsageError naming the file and what is missing, or key, value and range.
CostModel read_cost(const std::string& path);
void write_cost(const std::string& path, const CostModel& cost);  ///< atomically
/// A built-in set or one on paper by name, or a file. Throws: UsageError that lists the names.
CostModel find_cost(const std::string& name_or_path);
/// `square`, `square-linear` and `ring:H`, the sets for figures that anyone can recompute; none when the name
/// is another. Not of any machine, and not for training. Throws: UsageError when H is no number.
std::optional<CostModel> find_paper_cost(const std::string& name);
/// The built-in sets: data-sheet figures, none of them measured; the first is the default.
const std::vector<CostModel>& built_in_costs();
uint64_t hash_of(const CostModel& cost);
/// The set without exchange schemes other than the ring, the one that runs for real.
CostModel rings_only(CostModel cost);

/// Nanoseconds of a shard of `tokens` on a ring whose other blocks are `others` (empty: whole sample).
int64_t shard_ns(const CostModel& cost, int64_t tokens, const std::vector<int64_t>& others);

/// What the execution of a plan takes.
struct Makespan {
  int64_t total_ns = 0;          ///< of the step, all-reduce included
  std::vector<int64_t> busy_ns;  ///< per slot, without waits
  double max_over_mean = 1;      ///< of busy_ns
};
/// Executes a plan in the cost model (Note [Ring mates end together] in makespan.cpp).
Makespan makespan_of(const Plan& plan, const CostModel& cost, Execution execution = Execution::kFree);

/// Dual lower bound on the makespan of any plan, any ring size, uneven shards.
/// In lock-step the wave bound where it is larger. Source: Note [Dual bound] in bound.cpp, Note [Wave bound]
/// in wave_bound.cpp. Returns nanoseconds; never above an achievable makespan.
int64_t lower_bound(const std::vector<int64_t>& lengths, const CostModel& cost, const Cluster& cluster);

}  // namespace zoetrope
