#include "tools/profile_step.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/clocks.h"
#include "tools/median.h"
#include "tools/synthetic_batch.h"

namespace zoetrope {
namespace {

constexpr int64_t kLargestBatch = 4096, kMostSegments = 8;
using PassTimes = std::array<double, kPasses>;

/// A micro-batch of every rank. Ranks of one kind do the same; rank r is of kind r % sizes.size().
struct Candidate {
  std::string what;
  Plan plan;
  std::vector<int64_t> lengths;                 ///< of all samples of the plan
  std::vector<StepSample> sizes;                ///< per kind of rank
  std::vector<std::vector<PassTimes>> times{};  ///< of each kind, one per run
  double run_ns = 0, spent_ns = 0;              ///< of the last run; of all
  double most_tokens() const {
    double most = 0;
    for (const StepSample& size : sizes) most = std::max(most, size.tokens);
    return most;
  }
};

/// These samples on every rank.
Candidate whole_samples(int ranks, const std::vector<int64_t>& lengths) {
  Candidate c;
  c.plan = plan_of_equal_slots(ranks, lengths);
  StepSample size;
  for (const int64_t tokens : lengths) {
    size.tokens += double(tokens);
    size.pairs += double(tokens) * double(tokens);
    size.segments += 1;
  }
  for (int rank = 0; rank < ranks; ++rank) c.lengths.insert(c.lengths.end(), lengths.begin(), lengths.end());
  c.what = join_message(int64_t(size.tokens), " tokens");
  if (lengths.size() > 1) c.what += join_message(" in ", lengths.size(), " samples");
  c.sizes = {size};
  return c;
}

/// One sample over all ranks, with `tokens` on ranks 0, 2, 4, ..., and `others` times as many on the rest.
Candidate ring_of_all(int ranks, int64_t tokens, int64_t others) {
  Candidate c;
  c.plan.waves.resize(1);
  int64_t begin = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const int64_t share = rank % 2 == 0 ? tokens : others * tokens;
    c.plan.waves[0].slots.push_back({{0, begin, begin + share}});
    begin += share;
  }
  list_rings(c.plan);
  c.lengths = {begin};
  c.what = join_message(begin, " tokens over ", ranks, " ranks");
  for (const int64_t share : {tokens, others * tokens}) {
    StepSample size;
    size.tokens = double(share);
    size.pairs = double(share) * double(begin);
    size.segments = 1;
    size.remote = double(begin - share);
    size.split_rows = double(share * ranks);
    c.sizes.push_back(size);
  }
  if (others == 1) c.sizes.pop_back();
  return c;
}

/// The most telling first, since time may not last for all: lengths far apart, packs and rings early. As far
/// as the rank's caps go. Lengths are what clips have, no multiples of a kernel's blocks: what is spent on
/// blocks that a sample doesn't fill, on average half of one, is part of what its tokens cost.
std::vector<Candidate> candidates_for(const Rank& rank) {
  const int ranks = rank.comm.size();
  std::vector<Candidate> list;
  const auto whole = [&](const std::vector<int64_t>& lengths) {
    list.push_back(whole_samples(ranks, lengths));
  };
  const auto ring = [&](int64_t tokens, int64_t others) {
    if (ranks > 1) list.push_back(ring_of_all(ranks, tokens, others));
  };
  whole({45}), whole({230}), whole({45, 90, 61, 70}), whole({1000}), ring(470, 1), ring(235, 3);
  whole({150, 350, 230, 290}), whole({20, 45, 33, 14, 52, 27, 38, 25}), whole({530}), whole({2010});
  ring(110, 1), ring(45, 3), whole({75, 180, 110, 150, 96, 140, 205, 68}), whole({150});
  whole({110, 150, 68, 184}), ring(235, 1), whole({350, 674}), ring(1000, 1), whole({27});
  whole({11, 23, 9, 21}), whole({4000});
  std::erase_if(list, [&](const Candidate& c) {
    return int64_t(c.most_tokens()) > rank.cluster.tokens_per_slot ||
           int64_t(c.sizes[0].segments) > rank.cluster.segments_per_slot;
  });
  return list;
}

/// Runs candidates on this rank.
class StepTimer {
 public:
  StepTimer(Rank& rank, const ModelConfig& model, ReplayRecorder& recorder, PassWatch& watch)
      : rank_(rank), model_(model), recorder_(recorder), watch_(watch) {}

  /// Once, with the times of all ranks added to the candidate's unless it is a warm-up. As in training an
  /// update has just been through the caches.
  void run(Candidate& c, bool warm_up) {
    const MicroBatch batch = make_synthetic_batch(c.plan, 0, rank_.comm.rank(), c.lengths, model_);
    rank_.parameters.zero_grads();
    rank_.optimizer.step(0, rank_.optimizer.grad_norm());
    rank_.comm.barrier();
    const int64_t start = wall_ns();
    const PassTimes mine = time_passes(c, batch);
    c.run_ns = rank_.comm.all_reduce_max(double(wall_ns() - start));
    c.spent_ns += c.run_ns;
    if (warm_up) return;
    const std::vector<std::byte> all = rank_.comm.all_gather(&mine, sizeof mine);
    const size_t kinds = c.sizes.size(), ranks = size_t(rank_.comm.size());
    c.times.resize(kinds);
    for (size_t kind = 0; kind < kinds; ++kind) {
      PassTimes mean{};
      const size_t count = (ranks - kind + kinds - 1) / kinds;
      for (size_t r = kind; r < ranks; r += kinds) {
        PassTimes each;
        std::memcpy(&each, all.data() + r * sizeof each, sizeof each);
        for (size_t pass = 0; pass < mean.size(); ++pass) mean[pass] += each[pass] / double(count);
      }
      c.times[kind].push_back(mean);
    }
  }

 private:
  PassTimes time_passes(const Candidate& c, const MicroBatch& batch) {
    int64_t tokens = 0;
    for (const int64_t length : c.lengths) tokens += length;
    rank_.attention.begin_wave(c.plan, 0);
    rank_.sync.begin_wave(false, false);
    recorder_.begin();
    recorder_.mark(int64_t(Pass::kForward));
    watch_.on = true;
    rank_.flow.loss_and_gradients(batch, loss_count(tokens, model_));
    watch_.on = false;
    watch_.stream.synchronize();
    recorder_.end();
    PassTimes times{};
    size_t pass = 0;
    for (const ReplayEvent& event : recorder_.trace()) {
      if (event.kind == ReplayEvent::kMark) pass = size_t(event.value);
      if (event.kind == ReplayEvent::kCompute) times[pass] += double(event.value);
    }
    return times;
  }

  Rank& rank_;
  const ModelConfig& model_;
  ReplayRecorder& recorder_;
  PassWatch& watch_;
};

/// First runs of as many candidates as the time lets, the others are taken out of the list.
void run_first(StepTimer& timer, std::vector<Candidate>& list, const std::function<double()>& ns_left,
               const ProfileProgress& progress) {
  double ns_per_token = 0;
  std::erase_if(list, [&](Candidate& c) {
    if (2.6 * ns_per_token * c.most_tokens() > ns_left()) {
      progress(join_message(c.what, ": would take too long, left out"));
      return true;
    }
    timer.run(c, true);  // compiles the kernels of new shapes
    timer.run(c, false);
    ns_per_token = std::max(c.run_ns / c.most_tokens(), ns_per_token * 0.5);
    progress(join_message(c.what, ": ", std::round(c.run_ns / 1e4) / 100, " ms"));
    return false;
  });
}

/// Rounds over the candidates while there is time; none takes more than a tenth of it. Each runs once a
/// round: what runs again at once finds its code and its data in caches, and in training no micro-batch does.
void run_rounds(StepTimer& timer, std::vector<Candidate>& list, double seconds,
                const std::function<double()>& ns_left) {
  for (bool ran = true; ran;) {
    ran = false;
    for (Candidate& c : list) {
      if (c.spent_ns + c.run_ns > 1e8 * seconds) continue;
      if (c.run_ns > ns_left()) return;
      timer.run(c, false);
      ran = true;
    }
  }
}

}  // namespace

void PassWatch::acquire(Unit, Phase phase) {
  if (!on) return;
  stream.synchronize();
  recorder_.mark(int64_t(phase == Phase::kForward     ? Pass::kForward
                         : phase == Phase::kRecompute ? Pass::kRecompute
                                                      : Pass::kBackward));
}

Workload profile_workload(const ModelConfig& model) {
  return {1, kLargestBatch, kMostSegments, model.in_features()};
}

std::vector<MeasuredStep> measure_steps(Rank& rank, const ModelConfig& model, ReplayRecorder& recorder,
                                        PassWatch& watch, double seconds, const ProfileProgress& progress) {
  const int64_t start = wall_ns();
  const auto ns_left = [&] { return 1e9 * seconds - rank.comm.all_reduce_max(double(wall_ns() - start)); };
  std::vector<Candidate> list = candidates_for(rank);
  StepTimer timer(rank, model, recorder, watch);
  run_first(timer, list, ns_left, progress);
  run_rounds(timer, list, seconds, ns_left);
  rank.parameters.zero_grads();
  std::vector<MeasuredStep> measured;
  for (const Candidate& c : list)
    for (size_t kind = 0; kind < c.sizes.size(); ++kind) {
      MeasuredStep step{c.what, int64_t(c.times[kind].size()), c.sizes[kind]};
      if (c.sizes.size() > 1) step.what += join_message(", ", int64_t(step.sample.tokens), " of them");
      for (size_t pass = 0; pass < size_t(kPasses); ++pass) {
        std::vector<double> values;
        for (const PassTimes& times : c.times[kind]) values.push_back(times[pass]);
        step.sample.ns[pass] = median(values);
      }
      measured.push_back(step);
    }
  return measured;
}

std::vector<StepSample> samples_of(const std::vector<MeasuredStep>& steps) {
  std::vector<StepSample> samples;
  for (const MeasuredStep& step : steps) samples.push_back(step.sample);
  return samples;
}

}  // namespace zoetrope
