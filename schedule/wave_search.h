// Waves in lock-step: the search for the levels of waves that hold some items.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/waves.h"

namespace zoetrope {

/// How hard a search tries.
struct WaveEffort {
  size_t width = 1;           ///< partial plans kept
  int coarse = 8;             ///< levels tried at first, each 80 % of the one before
  int64_t ring_sizes = 5;     ///< levels at which the longest item is an even ring
  int refinements = 2;        ///< times that the best level's neighbourhood is halved
  bool fewest_slots = false;  ///< only levels that the longest item reaches on the fewest slots
  FillStyle style = {};
};

/// A beam of partial plans grows wave by wave; each tries levels for its next wave and keeps those with the
/// least time per work; whenever one more wave can hold all that is left, the lowest such level is found by
/// bisection.
class WaveSearch {
 public:
  explicit WaveSearch(const WaveBatch& batch) : batch_(batch), filler_(batch) {}

  /// Waves that hold all of `items` and take less than `limit_ns` together; empty: none were found before all
  /// searches together looked at more than `most_looks` slots.
  std::vector<FilledWave> run(const FreeItems& items, const WaveEffort& effort, int64_t limit_ns,
                              int64_t most_looks);
  /// What all searches took so far: slots looked at.
  int64_t num_looks() const { return filler_.num_looks(); }

 private:
  struct Partial {  // a plan's first waves; the others are still to come
    FreeItems free;
    int64_t elapsed_ns = 0;
    int last_wave = -1;  // index of the chain's end
  };
  struct Child {
    Partial partial;
    FilledWave wave;
    int64_t level = 0;
  };
  struct Link {
    int before;
    FilledWave wave;
  };

  bool is_better(const Partial& a, const Partial& b) const;
  int64_t mean_left(const Partial& partial) const {
    return partial.free.work_ns / batch_.cluster.num_slots + batch_.cost.wave;
  }
  std::vector<Partial> keep_best();
  void offer(const Partial& before, FilledWave wave);
  void try_last_wave(const Partial& partial);
  void try_levels(const Partial& partial);
  std::vector<int64_t> first_levels(const Partial& partial) const;
  void try_level(const Partial& partial, int64_t level);

  const WaveBatch& batch_;
  WaveEffort effort_;
  WaveFiller filler_;
  std::vector<Child> children_;  // of the beam
  std::vector<Link> links_;      // waves of all partial plans of this run
  int64_t start_work_ns_ = 0, best_ns_ = 0;
  std::vector<FilledWave> best_;
};

}  // namespace zoetrope
