// The two clocks that work is timed by.
#pragma once

#include <cstdint>

namespace zoetrope {

/// Nanoseconds of a clock that runs on whatever happens.
int64_t wall_ns();

/// CPU nanoseconds of the calling thread: what neighbours on the machine take is left out.
int64_t thread_cpu_ns();

/// Median of the steps that `thread_cpu_ns` was seen to take, at most 50 ms. Some kernels count a thread's
/// time in ticks of 4 or 10 ms, most to the nanosecond.
int64_t thread_cpu_step_ns();

/// A clock of larger steps is too coarse for pieces of work.
constexpr int64_t kFineClockNs = 20'000;

using ClockNs = int64_t (*)();

/// The clock that times work of `num_threads`: one thread's CPU clock where it is fine, else the wall clock.
ClockNs work_clock(int64_t num_threads);

}  // namespace zoetrope
