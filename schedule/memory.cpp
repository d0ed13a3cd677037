// Bytes of a rank from the model's own linear figures: the largest token cap that fits, the peak of a plan.
#include "schedule/memory.h"

#include <algorithm>

#include "core/check.h"

namespace zoetrope {

Cluster cluster_for_memory(const MemoryModel& memory, int64_t num_slots, int64_t memory_per_rank,
                           int64_t max_segments, int64_t smallest) {
  const int64_t per_token =
      memory.per_token + memory.per_cap_token + memory.in_flight * memory.per_held_token;
  const int64_t per_segment = memory.per_segment + memory.in_flight * memory.per_held_segment;
  ZT_CHECK(per_token > 0, "memory model: a token takes ", per_token, " bytes");
  const int64_t fixed = memory.persistent + per_segment * max_segments;
  const int64_t tokens = memory_per_rank > fixed ? (memory_per_rank - fixed) / per_token : 0;
  ZT_REQUIRE(tokens >= smallest && tokens > 0, "memory: a rank may use ", memory_per_rank, " bytes; ",
             memory.persistent, " persistent + ", max_segments, " segments x ", per_segment, " leave ",
             memory_per_rank - fixed, " for tokens of ", per_token, " bytes: ", tokens,
             " tokens, and at least ", smallest, " are needed (the longest sample over ", num_slots,
             " ranks); raise --memory-per-rank to ", fixed + smallest * per_token, ", use more ranks,",
             memory.recomputes_all ? "" : " turn on recompute (of a --model: --recompute-mode full),",
             " or use shorter samples (ingest: a smaller --area or --max-seconds)");
  return {num_slots, tokens, max_segments};
}

int64_t peak_bytes(const MemoryModel& memory, const Cluster& cluster) {
  const int64_t per_token =
      memory.per_token + memory.per_cap_token + memory.in_flight * memory.per_held_token;
  return memory.persistent + per_token * cluster.tokens_per_slot +
         (memory.per_segment + memory.in_flight * memory.per_held_segment) * cluster.segments_per_slot;
}

// Note [Micro-batches in flight]: with 1F1B a stage that holds at most f micro-batches between their forward
// and their backward always holds consecutive ones, since it runs both in the same order. So a slot's peak is
// the largest sum over f consecutive waves, and on top of it what the one that runs takes. Without a pipeline
// f is 1. Every wave keeps the caps, so that f waves hold at most f times them.
std::vector<int64_t> plan_peak_bytes(const MemoryModel& memory, const Plan& plan, const Cluster& cluster) {
  const int64_t fixed = memory.persistent + memory.per_cap_token * cluster.tokens_per_slot;
  const int64_t num_waves = int64_t(plan.waves.size());
  std::vector<int64_t> peaks;
  for (size_t slot = 0; slot < size_t(cluster.num_slots); ++slot) {
    std::vector<int64_t> held, running;
    for (const Wave& wave : plan.waves) {
      const int64_t tokens = tokens_of(wave.slots[slot]), segments = int64_t(wave.slots[slot].size());
      held.push_back(memory.per_held_token * tokens + memory.per_held_segment * segments);
      running.push_back(memory.per_token * tokens + memory.per_segment * segments);
    }
    int64_t peak = 0;
    for (int64_t first = 0; first < num_waves; ++first) {
      const int64_t end = std::min(num_waves, first + memory.in_flight);
      int64_t sum = 0, most = 0;
      for (int64_t wave = first; wave < end; ++wave) {
        sum += held[size_t(wave)];
        most = std::max(most, running[size_t(wave)]);
      }
      peak = std::max(peak, sum + most);
    }
    peaks.push_back(fixed + peak);
  }
  return peaks;
}

void check_plan_memory(const std::vector<int64_t>& peak_bytes, int64_t limit) {
  for (size_t rank = 0; rank < peak_bytes.size(); ++rank)
    ZT_REQUIRE(peak_bytes[rank] <= limit, "plan: rank ", rank, " would use ", peak_bytes[rank],
               " bytes at its peak, and may use ", limit,
               "; a fault of the planner or of the caps it was given, please report it with the lengths and "
               "the flags");
}

}  // namespace zoetrope
