// zoetrope bench: measurements of whole steps, of planners against each other, of rings, of operators, of
// plans on paper, and of ingest; a file each.
#pragma once

#include <string>
#include <vector>

#include "parallel/comm.h"
#include "tools/bench_ingest.h"
#include "tools/bench_plan.h"
#include "tools/bench_scale.h"
#include "tools/bench_traces.h"
#include "tools/train_config.h"

namespace zoetrope {

struct BenchOptions {
  std::string what;  ///< cp, ring, ops, step, plan, traces, scale, ingest
  TrainConfig config;
  std::vector<std::string> planners;                   ///< empty: all
  std::vector<std::string> precisions{"f32", "bf16"};  ///< of `bench step`
  int64_t steps = 24, batches = 4, link_hides = 0, tokens = 0;
  bool json = false;
  std::string out, timeline, html, gpus;
  PlanBench plan;
  ScaleBench scale;
  TracesBench traces;
  IngestBench ingest;
};

/// Whole training steps against the best rate of matrix products.
int bench_step(const BenchOptions& options, Comm& comm);
/// The same batches under every planner, wall time and replay.
int bench_cp(const BenchOptions& options, Comm& comm);
/// What ring attention waits for its transfers, against the bare transfers.
int bench_ring(const BenchOptions& options, Comm& comm);

/// Prints `json` when asked to, and writes it to `options.out` when that is given.
void report_json(const BenchOptions& options, const std::string& json);

}  // namespace zoetrope
