// One optimizer step on this rank: waves of the plan -> loss and gradients -> reduction -> update.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/flow.h"
#include "model/optimizer.h"
#include "parallel/context_attention.h"
#include "parallel/grad_sync.h"

namespace zoetrope {

struct StepResult {
  double loss = 0, grad_norm = 0;
  double busy_seconds = 0;  ///< this rank's compute without waits
  double wait_seconds = 0;  ///< exposed transfer: ring waits and the reduction that nothing hid
  double rank_max_over_mean = 1;
};

/// A loss or gradient norm that is not finite; `samples` are those of the step that it came from, or may
/// have.
class NonFiniteError : public Error {
 public:
  NonFiniteError(const std::string& message, std::vector<int64_t> from)
      : Error(message), samples(std::move(from)) {}
  std::vector<int64_t> samples;
};

/// Gives the micro-batch of (wave); called in wave order.
using MicroBatchSource = std::function<MicroBatch(int64_t wave)>;

/// Loss and global gradients of a step; every rank calls it with the same plan. `step` counts from 0;
/// messages count from 1, as the log does. Throws: NonFiniteError naming step and samples on a non-finite
/// loss or gradient norm, on all ranks.
StepResult run_loss_and_gradients(const Plan& plan, int64_t step, int64_t global_count, Comm& comm,
                                  Flow& flow, ContextAttention& attention, GradientSync& sync,
                                  const Parameters& parameters, const MicroBatchSource& source,
                                  const Ops& ops);

/// Checks that all ranks hold the same plan. Throws: Error naming the ranks that differ.
void check_same_plan(Comm& comm, uint64_t plan_hash, int64_t step);

}  // namespace zoetrope
