// What a wave asks of its ranks, cut into pieces: the simulator's view of a plan and a cost set.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/fixed_cost.h"
#include "schedule/plan.h"

namespace zoetrope {

/// A part of a whole, from one share to another; neighbouring parts of a time add up to it exactly.
struct TimeCut {
  static constexpr int64_t kWhole = int64_t(1) << 32;
  int64_t from = 0, to = kWhole;
  int64_t of(int64_t ns) const { return scaled(ns, to) - scaled(ns, from); }
  /// Where the part ends in a time.
  int64_t end_of(int64_t ns) const { return scaled(ns, to); }
  /// Part `number` of so many equal ones.
  TimeCut part(int64_t number, int64_t count) const {
    const int64_t width = to - from;
    return {from + width * number / count, from + width * (number + 1) / count};
  }

 private:
  static int64_t scaled(int64_t ns, int64_t at) { return int64_t((static_cast<__int128>(ns) * at) >> 32); }
};

enum class SimPass { kForward, kRecompute, kBackward };

/// The parts of a cost set's times that a pass takes, or a layer of it.
struct PassCuts {
  TimeCut linear, attention;          ///< of compute
  TimeCut keys, gradients;            ///< of what a remote block's transfer takes
  TimeCut heads_before, heads_after;  ///< of exchanging tokens for heads, and back
  bool moves_keys = true;             ///< recompute may keep attention's output and move nothing
  /// The part of one of so many layers.
  PassCuts layer(int64_t number, int64_t count) const;
};
/// Forward and recompute as the cost set has them; 1/3 and none where it doesn't say. Every time that keys
/// and values, or their gradients, go round takes the same.
PassCuts cuts_of(const CostModel& cost, SimPass pass);

/// One exchange step of a ring's member, over all passes: the block that comes in and the attention to it. A
/// step that stands for several has their compute, the transfer of one, and apart what the others' transfers
/// take and the compute that runs meanwhile.
struct RingStep {
  int64_t compute = 0, transfer = 0, latency = 0;
  int64_t other_transfers = 0, other_compute = 0;
};

/// A split sample. Members form columns that each hold a part of the heads and a block per position: one
/// column of all in a ring, a column per rank of a node in the hierarchical scheme, columns of one in an
/// all-to-all.
struct SplitWork {
  Exchange exchange = Exchange::kRing;
  size_t num_columns = 1, size = 0;
  std::vector<int> members;       ///< [column * size + position]
  std::vector<int64_t> heads_ns;  ///< of each, for exchanging heads and back, latency included
  size_t num_steps = 0;
  bool together = false;        ///< steps stand for several transfers each: all members wait for all
  std::vector<int64_t> own;     ///< by position: attention to the own block
  std::vector<RingStep> steps;  ///< [position * num_steps + step - 1]
  /// Step `number` from 1 of the members at a position.
  const RingStep& step(size_t position, size_t number) const {
    return steps[position * num_steps + number - 1];
  }
};

/// A wave's work, over all passes.
struct WaveWork {
  std::vector<int64_t> linear, local;  ///< by slot: all but attention; attention of unsplit samples
  std::vector<SplitWork> rings;        ///< in issue order
  std::vector<int> last_ring;          ///< by slot; -1: none
};
/// Rings have at most so many steps. Throws: Error when a ring's exchange scheme can't be.
WaveWork work_of(const Wave& wave, const FixedCost& cost, int64_t ring_steps);

/// Exchanges of all members of all rings of a plan, in one pass and layer.
int64_t num_exchanges(const Plan& plan, int64_t ring_steps);

}  // namespace zoetrope
