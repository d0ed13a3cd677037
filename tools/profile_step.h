// Measures what a cost model needs, on the machine and with the model of a config: micro-batches of several
// lengths, exchanges between ranks, the gradient sum. Used by `zoetrope profile` and by `bench cp`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/replay.h"
#include "tools/assemble.h"
#include "tools/profile_fit.h"

namespace zoetrope {

/// Told about each measurement, on every rank: what it was, and what came out.
using ProfileProgress = std::function<void(const std::string&)>;

/// One measured micro-batch and how it was made up.
struct MeasuredStep {
  std::string what;
  int64_t runs = 0;
  StepSample sample;
};

/// The parameter source of a rank that tells passes apart: while `on`, it marks in the recorder's trace which
/// pass begins.
class PassWatch : public ParameterSource {
 public:
  explicit PassWatch(ReplayRecorder& recorder) : recorder_(recorder) {}
  void acquire(Unit unit, Phase phase) override;
  bool on = false;
  Stream stream;  ///< of the operators: a pass of a GPU ends when it is through

 private:
  ReplayRecorder& recorder_;
};

/// Times the passes of micro-batches of several sizes within about `seconds`, on all ranks at once; with
/// several ranks also samples that lie on all of them, in equal and unequal shards. `recorder` must be the
/// one of `rank.comm`, `watch` the rank's parameter source. In rounds over all sizes, so that none has the
/// machine's best or worst seconds; medians. Every rank gets the same list.
std::vector<MeasuredStep> measure_steps(Rank& rank, const ModelConfig& model, ReplayRecorder& recorder,
                                        PassWatch& watch, double seconds, const ProfileProgress& progress);
/// The samples of a fit.
std::vector<StepSample> samples_of(const std::vector<MeasuredStep>& steps);
/// Largest micro-batch that `measure_steps` tries, memory permitting: what the rank is to be sized for.
Workload profile_workload(const ModelConfig& model);

/// Rate and latency of an exchange of ring neighbours, all at once.
struct LinkRate {
  double bytes_per_second = 0, latency_seconds = 0;
};
/// Throws: Error on a single rank.
LinkRate measure_link(Comm& comm, Device device);
/// The same between ranks 0 and 1 alone, the others asleep: for more ranks than cores. All ranks get the
/// result.
LinkRate measure_pair_link(Comm& comm, Device device);

/// Bytes of K, V and of their gradients that one remote token moves in one step, over all blocks.
double exchange_bytes_per_token(const ModelConfig& model, Precision precision);
/// Grouped calls per exchange step of a ring, over all blocks.
double exchanges_per_step(const ModelConfig& model);

/// Seconds of one sum of all gradients over all ranks; 0 on a single rank.
double measure_all_reduce(const Rank& rank);

/// Nanoseconds of what follows on the gradient sum in every step: gradients to zero, norm, update, prepared
/// weights. The update is one of learning rate 0. Mean over ranks of their medians.
double measure_optimizer(Rank& rank);

/// FLOP/s of attention forward of one rank on a block of `tokens` by `tokens` tokens.
double measure_attention(const Rank& rank, const ModelConfig& model, int64_t tokens, double seconds);

/// Mean of every rank's `value`, the same on all ranks.
double mean_over_ranks(Comm& comm, double value);

}  // namespace zoetrope
