// A simulated step as Chrome trace JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/plan.h"
#include "schedule/simulate.h"

namespace zoetrope {

/// How a trace names things.
struct ChromeTraceNames {
  int64_t ranks_per_node = 1;    ///< a process of the trace is a node, or a pipeline
  std::vector<int64_t> samples;  ///< numbers of the plan's samples for people; empty: the plan's
};

/// A process per node (with pipelines: per pipeline), a thread per rank (stage). On a thread a slice per wave
/// and pass, whose arguments are tokens and samples, and in it what the lane does; per thread a counter of
/// the tokens that it holds. Units: microseconds, to the nanosecond. Throws: Error when the plan has other
/// lanes.
std::string chrome_trace(const Simulation& simulation, const Plan& plan, const ChromeTraceNames& names);

}  // namespace zoetrope
