// Bytes of a rank from the model's own linear figures, and the largest token cap that fits.
#include "schedule/memory.h"

#include "core/check.h"

namespace zoetrope {

Cluster cluster_for_memory(const MemoryModel& memory, int64_t num_slots, int64_t memory_per_rank,
                           int64_t max_segments, int64_t smallest) {
  const int64_t per_token = memory.per_token + memory.per_cap_token;
  ZT_CHECK(per_token > 0, "memory model: per_token + per_cap_token is ", per_token);
  const int64_t fixed = memory.persistent + memory.per_segment * max_segments;
  const int64_t tokens = memory_per_rank > fixed ? (memory_per_rank - fixed) / per_token : 0;
  ZT_REQUIRE(tokens >= smallest && tokens > 0, "memory: a rank may use ", memory_per_rank, " bytes; ",
             memory.persistent, " persistent + ", max_segments, " segments x ", memory.per_segment, " leave ",
             memory_per_rank - fixed, " for tokens of ", per_token, " bytes: ", tokens,
             " tokens, and at least ", smallest, " are needed (the longest sample over ", num_slots,
             " ranks); raise --memory-per-rank to ", fixed + smallest * per_token,
             ", use more ranks, turn on recompute, or ingest with a smaller --area or --max-seconds");
  return {num_slots, tokens, max_segments};
}

int64_t peak_bytes(const MemoryModel& memory, const Cluster& cluster) {
  return memory.persistent + memory.per_segment * cluster.segments_per_slot +
         (memory.per_token + memory.per_cap_token) * cluster.tokens_per_slot;
}

}  // namespace zoetrope
