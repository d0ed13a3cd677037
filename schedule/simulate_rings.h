// The ring exchanges of a simulated wave: what they make the members of split samples do, layer by layer.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/simulate_lanes.h"
#include "schedule/simulate_work.h"

namespace zoetrope {

/// Ranks with their ports. Source: Note [Simulated step] in simulate.cpp.
class SimRings {
 public:
  SimRings(SimLanes& lanes, size_t num_ranks) : lanes_(lanes), ranks_(num_ranks) {}

  /// A layer of the pass on all ranks of the wave that are in rings.
  void forward_layer(const WaveWork& work, const PassCuts& cuts);
  void backward_layer(const WaveWork& work, const PassCuts& cuts);

 private:
  /// An exchange in flight: when it is posted at all its ends, and complete.
  struct Flight {
    int64_t posted = 0, complete = 0;
    bool is_open = false;
  };
  struct Rank {
    int64_t post = 0;  ///< since when the next keys may be sent
    int64_t port_in = 0, port_out = 0;
    Flight keys, gradients;
  };
  /// A column of a split sample.
  struct Column {
    const SplitWork& work;
    const int* members;
  };

  void forward_ring(const SplitWork& ring, const PassCuts& cuts);
  void backward_ring(const WaveWork& work, size_t number, const PassCuts& cuts);
  void backward_column(const Column& column, const PassCuts& cuts, const std::vector<bool>& keeps_half);
  void exchange_heads(const SplitWork& ring, const TimeCut& cut);
  void start_keys(const Column& column, size_t step, const TimeCut& cut);
  void start_gradients(const Column& column, size_t step, const TimeCut& cut);
  void start_pairs(const Column& column, size_t step, const TimeCut& cut, bool gradients);
  void start_together(const Column& column, size_t step, const TimeCut& cut, bool gradients);
  void await_keys(const Column& column);
  void await(size_t rank, Flight& flight);
  /// Attention to a step's block; where the step stands for several, what their transfers leave uncovered.
  void attend(int rank, const RingStep& step, const PassCuts& cuts, bool backward);
  void compute(int rank, int64_t ns) { lanes_.run(size_t(rank), SimSpan::kCompute, ns); }
  Rank& at(int rank) { return ranks_[size_t(rank)]; }
  /// Keys wait for the await before them, gradients for their compute.
  int64_t post_time(int rank, bool gradients) const {
    return gradients ? lanes_.clock(size_t(rank)) : ranks_[size_t(rank)].post;
  }

  SimLanes& lanes_;
  std::vector<Rank> ranks_;
  std::vector<int64_t> arrival_, posted_;  // of a step, by position
};

}  // namespace zoetrope
