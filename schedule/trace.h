// Lengths to plan without a data set: seeded generators from published figures of data sets and training
// mixes. A sample's length depends on the trace, the seed and the sample's number alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace zoetrope {

/// A generator of lengths.
struct Trace {
  std::string name, what, source;  ///< a line for people, and where the figures come from
  /// Tokens of sample number `sample`, 1 or more.
  std::function<int64_t(uint64_t seed, int64_t sample)> tokens;
};

/// The traces that have a name of their own: t1 to t10, t10-stage1 and video-mix.
const std::vector<Trace>& built_in_traces();

/// One of them, or `lognormal:MEAN:SIGMA:LO:HI`: lognormal of this mean and sigma, clipped to [LO, HI].
/// Throws: UsageError that says what is wrong and lists the traces.
Trace find_trace(const std::string& name);

/// Lengths of samples [first, first + count).
std::vector<int64_t> trace_lengths(const Trace& trace, uint64_t seed, int64_t first, int64_t count);

}  // namespace zoetrope
