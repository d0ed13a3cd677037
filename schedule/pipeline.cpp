// Runs a plan on pipelines on paper.
#include "schedule/pipeline.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "schedule/fixed_cost.h"

namespace zoetrope {
namespace {

// Note [Pipelines of a plan]
// All pipelines run the same list of operations: forward and backward of wave w on stage k, in 1F1B order
// with the plan's number of waves. An operation starts on a pipeline when its stage is done with the
// operation before and when its input has come from the neighbour stage; ring mates of the wave start it
// together, when the last of them could. Where the cost set says so, mates also end it together, as Note
// [Ring mates end together] in makespan.cpp has it. A pipeline without tokens in a wave passes the operation
// in no time and waits for nothing, but the wave keeps its number there. No plan deadlocks: an operation
// waits for the operation before on its stage and for its input, of its own pipeline and of its mates', and
// all these come earlier in one list for all pipelines. Would pipelines leave out the waves in which they
// have no tokens, a circular wait could arise: two stages, rings over both pipelines in waves 0 and 2, and a
// micro-batch of the first pipeline alone in wave 1. The first starts wave 2 after the backward of wave 0,
// the second would start the backward of wave 0 after wave 2.

/// A wave's times and which of its slots wait for each other.
struct WaveOnSlots {
  WaveOnSlots(const Wave& wave, const CostModel& cost) : busy_ns(makespan_of(Plan{{wave}}, cost).busy_ns) {
    for (RingView& ring : split_samples(wave)) {
      mates.push_back(std::move(ring.members));
      if (cost.mates_end_together) join_last();
    }
    length_ns = busy_ns;
    if (!cost.mates_end_together) return;
    for (const std::vector<int>& group : mates) {
      int64_t longest = 0;
      for (int slot : group) longest = std::max(longest, busy_ns[size_t(slot)]);
      for (int slot : group) length_ns[size_t(slot)] = longest;
    }
  }

  std::vector<int64_t> busy_ns;    ///< by slot
  std::vector<int64_t> length_ns;  ///< by slot, waits for ring mates in each layer included
  std::vector<std::vector<int>> mates;

 private:
  /// Makes one group of the last one and those that share a slot with it.
  void join_last() {
    std::vector<int> joined = std::move(mates.back());
    mates.pop_back();
    std::erase_if(mates, [&](const std::vector<int>& group) {
      const bool shared = std::any_of(group.begin(), group.end(), [&](int slot) {
        return std::find(joined.begin(), joined.end(), slot) != joined.end();
      });
      if (shared) joined.insert(joined.end(), group.begin(), group.end());
      return shared;
    });
    std::sort(joined.begin(), joined.end());
    joined.erase(std::unique(joined.begin(), joined.end()), joined.end());
    mates.push_back(std::move(joined));
  }
};

/// Adds a forward to what a stage holds, or takes a backward's micro-batch away.
void count_in_flight(const PipelineOp& op, int64_t tokens, size_t cell, std::vector<int64_t>& held_tokens,
                     std::vector<int64_t>& held_batches, PipelineRun& run) {
  const int64_t sign = op.backward ? -1 : 1;
  held_tokens[cell] += sign * tokens;
  held_batches[cell] += tokens > 0 ? sign : 0;
  run.tokens_in_flight[cell] = std::max(run.tokens_in_flight[cell], held_tokens[cell]);
  run.batches_in_flight[cell] = std::max(run.batches_in_flight[cell], held_batches[cell]);
}

/// Runs one operation on all pipelines after those before it.
void run_op(size_t number, const WaveOnSlots& wave, const PipelineShape& shape, PipelineTimes& times,
            PipelineRun& run) {
  const PipelineOp& op = times.ops[number];
  std::vector<int64_t>& end = times.end;
  const size_t num_slots = wave.busy_ns.size();
  std::vector<int64_t> ready(num_slots);
  for (size_t slot = 0; slot < num_slots; ++slot) {
    if (op.before >= 0) ready[slot] = end[size_t(op.before) * num_slots + slot];
    if (op.input >= 0 && wave.busy_ns[slot] > 0)
      ready[slot] = std::max(ready[slot], end[size_t(op.input) * num_slots + slot]);
  }
  std::vector<int64_t> start = ready;
  for (const std::vector<int>& group : wave.mates) {
    int64_t all_ready = 0;
    for (int slot : group) all_ready = std::max(all_ready, ready[size_t(slot)]);
    for (int slot : group) start[size_t(slot)] = std::max(start[size_t(slot)], all_ready);
  }
  const auto time = [&](int64_t ns) { return op.backward ? shape.backward_ns(ns) : shape.forward_ns(ns); };
  for (size_t slot = 0; slot < num_slots; ++slot) {
    times.start[number * num_slots + slot] = start[slot];
    end[number * num_slots + slot] = start[slot] + time(wave.length_ns[slot]);
    run.busy_ns[slot * size_t(shape.num_stages) + size_t(op.stage)] += time(wave.busy_ns[slot]);
    run.total_ns = std::max(run.total_ns, end[number * num_slots + slot]);
  }
}

}  // namespace

PipelineShape pipeline_shape(const CostModel& cost, int64_t num_stages, const std::vector<int64_t>& lengths) {
  PipelineShape shape{num_stages};
  const bool known = (cost.linear_ns == 0 || cost.linear_forward_ns > 0) &&
                     (cost.quadratic_ns == 0 || cost.quadratic_forward_ns > 0);
  if (!known || lengths.empty()) return shape;
  __int128 tokens = 0, pairs = 0;
  for (int64_t length : lengths) tokens += length, pairs += static_cast<__int128>(length) * length;
  for (; pairs >> 60 > 0; pairs >>= 1) tokens >>= 1;  // what follows stays within 127 bits
  const auto fixed = [](double ns) { return static_cast<__int128>(std::llround(ns * 0x1p20)); };
  const __int128 forward = fixed(cost.linear_forward_ns) * tokens + fixed(cost.quadratic_forward_ns) * pairs;
  const __int128 whole = fixed(cost.linear_ns) * tokens + fixed(cost.quadratic_ns) * pairs;
  constexpr int64_t kParts = 1024;
  shape.forward_parts = std::clamp<int64_t>(int64_t((forward * kParts + whole / 2) / whole), 1, kParts - 1);
  shape.backward_parts = kParts - shape.forward_parts;  // recompute included: the set counts it
  return shape;
}

void check_shape(const PipelineShape& shape) {
  const auto check = [](const char* name, int64_t value, int64_t least) {
    ZT_REQUIRE(value >= least && value < (1 << 16), "pipeline: ", name, " is ", value, ", expected ", least,
               " to ", (1 << 16) - 1);
  };
  check("number of stages", shape.num_stages, 1);
  check("forward's part", shape.forward_parts, 1);
  check("backward's part", shape.backward_parts, 1);
  check("recompute's part", shape.recompute_parts, 0);
}

std::vector<PipelineOp> one_forward_one_backward(int64_t num_stages, int64_t num_waves) {
  struct Stage {
    int64_t forwards = 0, backwards = 0;
    int32_t last = -1;
  };
  std::vector<Stage> stages(static_cast<size_t>(num_stages));
  std::vector<PipelineOp> ops;
  ops.reserve(size_t(2 * num_stages * num_waves));
  std::vector<int32_t> forward(size_t(num_stages * num_waves), -1), backward = forward;
  const auto cell = [&](int64_t wave, int64_t stage) { return size_t(wave * num_stages + stage); };
  /// Runs the stage's next operation if what it waits for is in the list.
  const auto advance = [&](int64_t k) {
    Stage& stage = stages[size_t(k)];
    const int64_t held = stage.forwards - stage.backwards;
    const bool is_backward = stage.forwards == num_waves || held == std::min(num_stages - k, num_waves);
    const int64_t wave = is_backward ? stage.backwards : stage.forwards;
    if (wave == num_waves) return false;
    int32_t input = -1;
    if (is_backward) input = k + 1 < num_stages ? backward[cell(wave, k + 1)] : forward[cell(wave, k)];
    else if (k > 0) input = forward[cell(wave, k - 1)];
    if (input < 0 && (is_backward || k > 0)) return false;
    const int32_t number = int32_t(ops.size());
    ops.push_back({is_backward, int32_t(wave), int32_t(k), stage.last, input});
    (is_backward ? backward : forward)[cell(wave, k)] = stage.last = number;
    ++(is_backward ? stage.backwards : stage.forwards);
    return true;
  };
  while (ops.size() < size_t(2 * num_stages * num_waves)) {
    const size_t before = ops.size();
    for (int64_t k = 0; k < num_stages; ++k)
      while (advance(k)) {}
    ZT_CHECK(ops.size() > before, "1F1B: a circular wait with ", num_stages, " stages and ", num_waves,
             " micro-batches");
  }
  return ops;
}

PipelineRun simulate_pipeline(const Plan& plan, const CostModel& cost, const PipelineShape& shape,
                              PipelineTimes* wanted) {
  check_shape(shape);
  const size_t num_slots = size_t(plan.num_slots()), num_waves = plan.waves.size();
  const size_t num_cells = num_slots * size_t(shape.num_stages);
  PipelineRun run;
  run.busy_ns.assign(num_cells, 0);
  run.tokens_in_flight = run.batches_in_flight = run.busy_ns;
  std::vector<WaveOnSlots> waves;
  waves.reserve(num_waves);
  for (const Wave& wave : plan.waves) waves.emplace_back(wave, cost);
  PipelineTimes times{one_forward_one_backward(shape.num_stages, int64_t(num_waves)), {}, {}};
  times.start.assign(times.ops.size() * num_slots, 0);
  times.end = times.start;
  std::vector<int64_t> held_tokens(num_cells, 0), held_batches(num_cells, 0);
  for (size_t number = 0; number < times.ops.size(); ++number) {
    const PipelineOp& op = times.ops[number];
    run_op(number, waves[size_t(op.wave)], shape, times, run);
    for (size_t slot = 0; slot < num_slots; ++slot)
      count_in_flight(op, tokens_of(plan.waves[size_t(op.wave)].slots[slot]),
                      slot * size_t(shape.num_stages) + size_t(op.stage), held_tokens, held_batches, run);
  }
  run.idle_ns.resize(num_cells);
  for (size_t cell = 0; cell < num_cells; ++cell) run.idle_ns[cell] = run.total_ns - run.busy_ns[cell];
  if (num_slots > 0) run.total_ns += FixedCost(cost).allreduce;
  if (wanted) *wanted = std::move(times);
  return run;
}

}  // namespace zoetrope
