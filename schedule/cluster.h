// Who runs a plan: ranks, their caps, and how they go through waves.
#pragma once

#include <cstdint>

namespace zoetrope {

/// How ranks run through the waves of a step.
enum class Execution {
  kFree,   ///< a wave of a rank starts when the rank and its ring mates of that wave are free
  kWaves,  ///< all ranks start a wave together: fully sharded parameters
};

/// Ranks and their hard bounds.
struct Cluster {
  int64_t num_slots = 1;
  int64_t tokens_per_slot = 0;    ///< hard cap on tokens of a slot in a wave
  int64_t segments_per_slot = 0;  ///< hard cap on segments of a slot in a wave; 0: none
  Execution execution = Execution::kFree;
};

}  // namespace zoetrope
