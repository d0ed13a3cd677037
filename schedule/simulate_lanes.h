// The lanes of a simulated step while it is made: clocks, sums and spans.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/simulate.h"

namespace zoetrope {

/// Clocks of all lanes; what they do is appended at their clocks.
class SimLanes {
 public:
  /// `in_detail`: every span as it is; else a lane's spans of a pass of a wave are joined, one of a kind, so
  /// that sums and ends stay and memory is bounded.
  SimLanes(size_t num_lanes, bool in_detail);

  int64_t clock(size_t lane) const { return lanes_[lane].clock; }
  /// The latest clock.
  int64_t end() const;
  /// Labels what the lane does next.
  void begin_pass(size_t lane, int64_t wave, bool backward);
  /// The lane does this for `ns`.
  void run(size_t lane, SimSpan::Kind kind, int64_t ns) { run_until(lane, kind, clock(lane) + ns); }
  /// The same until a time; nothing when that has passed.
  void run_until(size_t lane, SimSpan::Kind kind, int64_t time);
  /// Ends the step: all lanes wait for the latest, then for the all-reduce until `reduced`, then run the
  /// optimizer. The lanes are empty afterwards.
  Simulation finish(int64_t reduced, int64_t optimizer_ns);

 private:
  struct Lane {
    int64_t clock = 0, pass_begin = 0, wave = -1;
    bool backward = false;
    std::array<int64_t, 4> in_pass{}, sums{};  ///< by kind
    std::vector<SimSpan> spans;
  };
  void append(Lane& lane, SimSpan::Kind kind, int64_t begin, int64_t end) const;
  void end_pass(Lane& lane) const;
  std::vector<Lane> lanes_;
  bool in_detail_;
};

/// Most tokens and segments that a slot holds in a wave, by slot.
void set_peaks(const Plan& plan, Simulation& simulation);
/// Sets `mfu`.
void set_mfu(const Plan& plan, const CostModel& cost, Simulation& simulation);

/// The part of each slot's time in a wave that transfers add to its compute, in the cost model.
std::vector<int64_t> exposed_of(const Wave& wave, const CostModel& cost);

/// How closely a step is looked at.
struct SimDetail {
  int64_t layer_groups = 1;  ///< neighbouring layers are joined into so many
  int64_t ring_steps = 64;   ///< larger rings have each of so many steps stand for several
  bool all_spans = true;     ///< else those of a pass are joined, one of a kind
};
/// What the plan's exchanges leave time and memory for.
SimDetail detail_of(const Plan& plan, const CostModel& cost);
/// Runs the plan layer by layer. Note [Simulated step] in simulate.cpp.
Simulation simulate_layers(const Plan& plan, const CostModel& cost, Execution execution,
                           const SimDetail& detail);
/// Runs waves as makespan_of does, for cost sets in which a rank is free when its own work is done.
Simulation simulate_whole_waves(const Plan& plan, const CostModel& cost, Execution execution);

}  // namespace zoetrope
