// A plan is plain data for one optimizer step: waves of slots of shards. Everybody's mode, one format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// Tokens [begin, end) of a sample (numbered in the step's batch).
struct Shard {
  int64_t sample = 0, begin = 0, end = 0;
  int64_t num_tokens() const { return end - begin; }
  bool operator==(const Shard&) const = default;
};

/// How the members of a ring see each other's keys and values.
enum class Exchange {
  kRing,         ///< blocks go round, behind the attention to the block before
  kAllGather,    ///< every member gets all blocks first
  kAllToAll,     ///< tokens are exchanged for heads, and back
  kHierarchical  ///< all-to-all inside each node, a ring of the nodes' blocks between them
};
/// The scheme's name in plan files.
const char* name_of(Exchange exchange);
/// Throws: Error with the names that there are.
Exchange exchange_from(const std::string& name);

/// A sample on more than one slot of its wave. Members: the slots that hold its shards, in order of their
/// first range.
struct Ring {
  int64_t sample = 0;
  Exchange exchange = Exchange::kRing;
  bool operator==(const Ring&) const = default;
};

struct Wave {
  std::vector<std::vector<Shard>> slots;
  std::vector<Ring> rings;  ///< in issue order, as split_samples
  bool operator==(const Wave&) const = default;
};

struct Plan {
  std::vector<Wave> waves;
  int64_t num_slots() const { return waves.empty() ? 0 : int64_t(waves[0].slots.size()); }
  bool operator==(const Plan&) const = default;
};

/// Slots that hold shards of `sample` in the wave, in order of their first range.
std::vector<int> ring_members(const Wave& wave, int64_t sample);

/// A split sample of a wave: its member slots in order of their first range, and the tokens each holds.
struct RingView {
  int64_t sample = 0;
  std::vector<int> members;
  std::vector<int64_t> tokens;
};

/// All split samples of a wave in the global issue order: short samples first, ties by number. Where rings
/// share slots they wait little for each other so (Note [Order of rings] in plan.cpp).
std::vector<RingView> split_samples(const Wave& wave);

/// By sample number up to the last split one: true where the sample is split.
std::vector<bool> split_flags(const std::vector<RingView>& rings);

/// Puts the rings that a wave lists into issue order; `lengths`: tokens by sample.
void order_rings(Wave& wave, const std::vector<int64_t>& lengths);
/// The same with lengths that the wave's shards tell; rings of samples that aren't split come last.
void order_rings(Wave& wave);

/// Sets `rings` of every wave from the shards; planners call it last.
void list_rings(Plan& plan);

/// Throws: Error naming wave, slot and sample unless every sample lies in one wave with its tokens covered
/// exactly once, all waves have `num_slots` slots, and the rings are exactly the split samples in order.
void validate_plan(const Plan& plan, const std::vector<int64_t>& lengths, int64_t num_slots);

/// design.md's JSON, `{"version":1,"waves":[...]}`; reading checks version, types and unknown keys.
std::string plan_to_json(const Plan& plan);
Plan plan_from_json(const std::string& text, const std::string& name_for_errors);

/// 64-bit hash of the plan, equal on all ranks when the plans are equal.
uint64_t hash_of(const Plan& plan);

/// Ring sizes that a plan uses, ascending; 1 for whole samples.
std::vector<int64_t> cp_sizes_of(const Plan& plan);

/// Tokens that a slot holds in a wave, and in its fullest wave.
int64_t tokens_of(const std::vector<Shard>& slot);
int64_t max_tokens_per_slot(const Plan& plan);
/// Segments of the slot and wave that hold most of them.
int64_t max_segments_per_slot(const Plan& plan);

}  // namespace zoetrope
