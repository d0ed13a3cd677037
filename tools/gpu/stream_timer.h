// Times of work on the device's main stream: events around batches of calls, a warm-up before, medians.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace zoetrope {

/// Median time of a call, and how far half of the batches lie apart, as a share of it.
struct Timing {
  double seconds = 0, spread = 0;
  int64_t batches = 0, calls_per_batch = 0;
};

struct TimerOptions {
  double seconds = 0.3;         ///< that a measurement may take
  double batch_seconds = 1e-3;  ///< of a batch at least, so that its two events are small beside it
  int64_t most_batches = 40;
};

/// Times run(0), run(1), ...: each gives the main stream the same work; callers rotate through operands by
/// the number. Batches follow each other without a wait, so that a call pays for what the one before it left
/// in the cache, and the host is ahead of the device. Throws: Error of the device.
Timing time_on_stream(const std::function<void(int64_t call)>& run, const TimerOptions& options);

/// Seconds of a launch of a kernel that does nothing: on the device, one behind the other, and on the host.
struct LaunchOverhead {
  double device = 0, host = 0;
};
/// Measures both.
LaunchOverhead measure_launches(const TimerOptions& options);

/// Copies `bytes`, a multiple of 16, by a kernel that reads and writes 16 bytes at a time; both places are
/// on 16 bytes.
void copy_by_kernel(void* to, const void* from, int64_t bytes);
/// The same by the library.
void copy_by_library(void* to, const void* from, int64_t bytes);

/// Bytes of the device's second-level cache.
int64_t cache_bytes();
/// Clocks, temperature, power and reasons of throttling of the GPU, as nvidia-smi tells them; or why it
/// doesn't.
std::string gpu_clocks(int index);

}  // namespace zoetrope
