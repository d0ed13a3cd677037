// Everything that `train` reads, one table per life stage; `sample`, `heldout`, `profile` and `bench` read
// the same files.
#pragma once

#include <string>
#include <vector>

#include "core/options.h"
#include "model/config.h"
#include "model/flow.h"
#include "model/ops/types.h"
#include "model/optimizer.h"
#include "schedule/planner.h"

namespace zoetrope {

struct DataOptions {
  std::string data;
  void visit(auto&& field) { field("data", data, "data set folder that `zoetrope ingest` wrote"); }
};

inline constexpr const char* kBagsHelp =
    "bag sizes and counts of the bags planner, such as g1n32+g2n8; empty: derived from the lengths";

struct PlanOptions {
  std::string planner = "elastic", cost, bags;
  int64_t cp = 0, batch = 8, memory_per_rank = 0;
  void visit(auto&& field) {
    field("planner", planner, "how samples are spread over ranks", planner_names());
    field("cp", cp, "CP size of the static planners; 0: the fastest predicted feasible one");
    field("bags", bags, kBagsHelp);
    field("batch", batch, "samples per optimizer step, over all ranks");
    field("memory-per-rank", memory_per_rank, "bytes a rank may use; 0: what the cost file says");
    field("cost", cost,
          "cost set: a set on paper or built in, else a file, else configs/hardware/NAME.toml, "
          "installed or of the source tree; empty: RUN/cost.toml, else built in");
  }
};

/// Throws: UsageError when --cp is given with a planner that chooses it itself, or doesn't divide the ranks.
void check_cp(const PlanOptions& plan, int64_t ranks);
/// Throws: UsageError when --bags is given with another planner, or isn't a spec of so many ranks.
void check_bags(const PlanOptions& plan, int64_t ranks);

inline constexpr double kTransferTimeout = 600;
inline constexpr const char* kTransferTimeoutHelp =
    "seconds after which a transfer between GPUs that has not ended ends the run";

struct ParallelOptions {
  int64_t ranks = 0, threads_per_rank = 0;
  double transfer_timeout = kTransferTimeout;
  void visit(auto&& field) {
    field("ranks", ranks, "ranks to start; 0: one, or what mpirun or srun gives");
    field("threads-per-rank", threads_per_rank,
          "compute threads of a rank; 0: cores of the node / its ranks");
    field("transfer-timeout", transfer_timeout, kTransferTimeoutHelp);
  }
};

struct CheckpointOptions {
  int64_t every = 50, keep = 3;
  void visit(auto&& field) {
    field("checkpoint-every", every, "steps between checkpoints; 0: only at the end");
    field("keep-checkpoints", keep, "newest checkpoints to keep; 0: all");
  }
};

struct NumericsOptions {
  std::string device = "cpu", precision = "f32", attention_kernel = "auto";
  bool allow_nondeterministic = false;
  int64_t seed = 0;
  void visit(auto&& field) {
    field("device", device, "what computes; cuda: a GPU for each rank",
          std::vector<std::string>{"cpu", "cuda"});
    field("precision", precision, "type of the products; everything else is f32",
          std::vector<std::string>{"f32", "bf16"});
    field("attention-kernel", attention_kernel,
          "whose attention runs on a GPU; auto: what the cost set's file found faster, else own",
          std::vector<std::string>{"auto", "own", "cudnn"});
    field("allow-nondeterministic", allow_nondeterministic,
          "kernels may run whose bits differ from run to run: cuDNN's attention backward");
    field("seed", seed, "of initialisation, order, noise and dropout");
  }
};

/// What the operators are made with; attention kernel `auto` counts as own until it is settled.
OpsSettings settings_of(const NumericsOptions& numerics);

/// The tables of a training config file.
struct TrainConfig {
  DataOptions data;
  ModelConfig model;
  FlowConfig flow;
  PlanOptions plan;
  ParallelOptions parallel;
  OptimizerConfig optimisation;
  CheckpointOptions checkpoint;
  NumericsOptions numerics;

  /// Binds every table to the option set, in the order of the life of a run.
  void add_to(OptionSet& options) {
    options.add_table("data", data);
    options.add_table("model", model);
    options.add_table("flow", flow);
    options.add_table("plan", plan);
    options.add_table("parallel", parallel);
    options.add_table("optimisation", optimisation);
    options.add_table("checkpoint", checkpoint);
    options.add_table("numerics", numerics);
  }
  /// Throws: UsageError naming a value that can't be, its table and what was expected.
  void validate() const;
};

}  // namespace zoetrope
