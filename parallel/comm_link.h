// A Comm that makes ring transfers as slow as a given link: what a machine with a slower network would show.
// Wraps another Comm; collectives pass through unchanged.
#pragma once

#include <memory>

#include "parallel/comm.h"

namespace zoetrope {

/// Every direction sender -> receiver is a link of its own. A message starts when both ends have posted it
/// and the link is free, occupies the link for bytes / bytes_per_second, and is seen by the receiver not
/// before `latency_seconds` after that. Nobody sleeps: test() and wait() look at the clock. Ranks share a
/// clock, so all of them must run on one machine. Every rank must wrap its Comm with the same figures. Units:
/// bytes per second, seconds. Throws: Error unless the rate is positive and the latency not negative.
std::unique_ptr<Comm> make_link_comm(std::unique_ptr<Comm> inner, double bytes_per_second,
                                     double latency_seconds);
/// The same around a Comm that lives elsewhere (a rank of `run_local_ranks`).
std::unique_ptr<Comm> make_link_comm(Comm& inner, double bytes_per_second, double latency_seconds);

}  // namespace zoetrope
