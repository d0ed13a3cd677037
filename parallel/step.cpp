#include "parallel/step.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>

#include "parallel/gather.h"

namespace zoetrope {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// When a rank may start to reduce: its last wave with tokens, if no ring of it comes then or later.
struct LastWave {
  int64_t wave = -1;
  bool has_ring = false;
};
LastWave last_wave_of(const Plan& plan, int rank) {
  LastWave last;
  for (int64_t w = 0; w < int64_t(plan.waves.size()); ++w) {
    const Wave& wave = plan.waves[size_t(w)];
    if (tokens_of(wave.slots[size_t(rank)]) == 0) continue;
    last.wave = w;
    last.has_ring = std::ranges::any_of(split_samples(wave), [rank](const RingView& ring) {
      return std::ranges::find(ring.members, rank) != ring.members.end();
    });
  }
  return last;
}

struct Sample {
  int64_t sample = 0, draw = 0;
  auto operator<=>(const Sample&) const = default;
};

/// All ranks' samples, without repetition.
std::set<Sample> all_samples(Comm& comm, const std::set<Sample>& mine) {
  const auto counts = gather_values(comm, int64_t(mine.size()));
  std::vector<Sample> padded(mine.begin(), mine.end());
  padded.resize(size_t(std::max<int64_t>(1, *std::ranges::max_element(counts))), {-1, -1});
  const std::vector<std::byte> bytes =
      comm.all_gather(padded.data(), int64_t(padded.size() * sizeof(Sample)));
  std::vector<Sample> all(padded.size() * size_t(comm.size()));
  std::memcpy(static_cast<void*>(all.data()), bytes.data(), bytes.size());
  std::set<Sample> samples(all.begin(), all.end());
  std::erase_if(samples, [](const Sample& s) { return s.sample < 0; });
  return samples;
}

/// The message ends with the samples.
NonFiniteError non_finite(std::string message, const std::set<Sample>& samples) {
  std::vector<int64_t> indices;
  for (const Sample& s : samples) {
    message += join_message(indices.empty() ? " " : ", ", s.sample, " (draw ", s.draw, ")");
    indices.push_back(s.sample);
  }
  return {message, indices};
}

/// What a rank tells the others at the end of a step.
struct RankReport {
  double loss_sum = 0, busy_seconds = 0;
};

}  // namespace

StepResult run_loss_and_gradients(const Plan& plan, int64_t step, int64_t global_count, Comm& comm,
                                  Flow& flow, ContextAttention& attention, GradientSync& sync,
                                  const Parameters& parameters, const MicroBatchSource& source,
                                  const Ops& ops) {
  parameters.zero_grads();
  const LastWave last = last_wave_of(plan, comm.rank());
  const double waits_before = attention.stats().wait_seconds;
  const auto start = std::chrono::steady_clock::now();
  RankReport report;
  std::set<Sample> seen, broken;
  for (int64_t wave = 0; wave < int64_t(plan.waves.size()); ++wave) {
    const MicroBatch batch = source(wave);
    ZT_CHECK(batch.wave == wave, "micro-batch of wave ", batch.wave, " given for wave ", wave);
    attention.begin_wave(plan, wave);
    if (wave <= last.wave) sync.begin_wave(wave == last.wave, !last.has_ring);
    const FlowLoss loss = flow.loss_and_gradients(batch, global_count);
    report.loss_sum += loss.sum;
    for (size_t i = 0; i < batch.segments.size(); ++i) {
      const Sample sample{batch.segments[i].sample, batch.segments[i].draw};
      seen.insert(sample);
      if (!std::isfinite(loss.per_segment[i])) broken.insert(sample);
    }
  }
  StepResult result;
  ops.stream().synchronize();  // sums of a ring-free last wave are issued by now; what is told is device time
  const double ring_waits = attention.stats().wait_seconds - waits_before;
  result.busy_seconds = report.busy_seconds = seconds_since(start) - ring_waits;
  sync.finish(ops.stream());
  result.wait_seconds = ring_waits + sync.exposed_seconds();

  double busiest = 0, total_busy = 0, sum = 0;
  for (const RankReport& rank : gather_values(comm, report)) {
    sum += rank.loss_sum;
    busiest = std::max(busiest, rank.busy_seconds);
    total_busy += rank.busy_seconds;
  }
  result.loss = sum / double(global_count);
  result.rank_max_over_mean = total_busy > 0 ? busiest * comm.size() / total_busy : 1;
  result.grad_norm = std::sqrt(ops.sum_squares(parameters.grads()));
  // Gradients and the gathered sums are bit-equal on all ranks, so that all of them take the same branch.
  if (!std::isfinite(result.loss))
    throw non_finite(
        join_message("step ", step + 1, ": the loss is ", result.loss,
                     "; the data or the learning rate is at fault; samples with a non-finite loss:"),
        all_samples(comm, broken));
  if (!std::isfinite(result.grad_norm))
    throw non_finite(join_message("step ", step + 1, ": the gradient norm is ", result.grad_norm,
                                  " at a loss of ", result.loss, "; samples of the step:"),
                     all_samples(comm, seen));
  return result;
}

}  // namespace zoetrope
