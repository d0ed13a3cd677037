// Napkin of the copy: 2 x 16 bytes a thread and step, four of them under way: with 2048 threads a
// multiprocessor 128 KiB, four times what 4.8 TB/s at 800 ns ask of each of 132.
#include "tools/gpu/stream_timer.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "core/clocks.h"
#include "model/ops/cuda/launch.h"
#include "tools/median.h"

namespace zoetrope {
namespace {

using cuda::launch;
using cuda::LaunchShape;

constexpr int kCopyThreads = 256, kCopyEach = 4;  // 16-byte pieces of a thread

__global__ void __launch_bounds__(kCopyThreads) copy_kernel(uint4* to, const uint4* from, int64_t count) {
  const int64_t first = int64_t(blockIdx.x) * (kCopyThreads * kCopyEach) + threadIdx.x;
  uint4 pieces[kCopyEach];
#pragma unroll
  for (int i = 0; i < kCopyEach; ++i)
    if (first + i * kCopyThreads < count) pieces[i] = from[first + i * kCopyThreads];
#pragma unroll
  for (int i = 0; i < kCopyEach; ++i)
    if (first + i * kCopyThreads < count) to[first + i * kCopyThreads] = pieces[i];
}

__global__ void __launch_bounds__(32) empty_kernel() {}

/// An event with a time, recorded in the main stream.
class TimedEvent {
 public:
  TimedEvent() {
    cudaEvent_t event = nullptr;
    ZT_CUDA(cudaEventCreate(&event));
    event_ = std::shared_ptr<CUevent_st>(event, [](cudaEvent_t e) { (void)cudaEventDestroy(e); });
  }
  void record() const { ZT_CUDA(cudaEventRecord(event_.get(), nullptr)); }
  void synchronize() const { ZT_CUDA(cudaEventSynchronize(event_.get())); }
  double seconds_since(const TimedEvent& earlier) const {
    float milliseconds = 0;
    ZT_CUDA(cudaEventElapsedTime(&milliseconds, earlier.event_.get(), event_.get()));
    return 1e-3 * double(milliseconds);
  }

 private:
  std::shared_ptr<CUevent_st> event_;
};

}  // namespace

Timing time_on_stream(const std::function<void(int64_t call)>& run, const TimerOptions& options) {
  int64_t call = 0;
  const auto batch = [&](int64_t calls) {
    for (int64_t i = 0; i < calls; ++i) run(call++);
  };
  const TimedEvent first, second;
  batch(2);  // loads kernels, asks for algorithms, wakes the clocks
  first.record();
  batch(1);
  second.record();
  second.synchronize();
  const double once = std::max(second.seconds_since(first), 1e-7);
  Timing timing;
  timing.calls_per_batch = std::clamp<int64_t>(int64_t(options.batch_seconds / once) + 1, 1, 256);
  timing.batches = std::clamp<int64_t>(int64_t(options.seconds / (once * double(timing.calls_per_batch))), 3,
                                       options.most_batches);
  std::vector<TimedEvent> marks(size_t(timing.batches) + 1);
  marks[0].record();
  for (size_t i = 1; i < marks.size(); ++i) {
    batch(timing.calls_per_batch);
    marks[i].record();
  }
  marks.back().synchronize();
  std::vector<double> seconds;
  for (size_t i = 1; i < marks.size(); ++i)
    seconds.push_back(marks[i].seconds_since(marks[i - 1]) / double(timing.calls_per_batch));
  std::sort(seconds.begin(), seconds.end());
  timing.seconds = std::max(median(seconds), 1e-9);
  timing.spread = (seconds[seconds.size() * 3 / 4] - seconds[seconds.size() / 4]) / timing.seconds;
  return timing;
}

LaunchOverhead measure_launches(const TimerOptions& options) {
  const LaunchShape shape{dim3(1), dim3(32), 0, "empty"};
  const auto run = [&](int64_t) { launch(empty_kernel, shape, nullptr); };
  LaunchOverhead overhead;
  overhead.device = time_on_stream(run, options).seconds;
  constexpr int kLaunches = 256;  // fewer than a stream's queue takes before the host waits
  std::vector<double> seconds;
  for (int round = 0; round < 5; ++round) {
    const int64_t start = wall_ns();
    for (int i = 0; i < kLaunches; ++i) run(i);
    seconds.push_back(1e-9 * double(wall_ns() - start) / kLaunches);
    ZT_CUDA(cudaStreamSynchronize(nullptr));
  }
  overhead.host = median(seconds);
  return overhead;
}

void copy_by_kernel(void* to, const void* from, int64_t bytes) {
  const int64_t count = bytes / int64_t(sizeof(uint4)), each = kCopyThreads * kCopyEach;
  launch(copy_kernel, LaunchShape{dim3(unsigned((count + each - 1) / each)), dim3(kCopyThreads), 0, "copy"},
         nullptr, static_cast<uint4*>(to), static_cast<const uint4*>(from), count);
}

void copy_by_library(void* to, const void* from, int64_t bytes) {
  ZT_CUDA(cudaMemcpyAsync(to, from, size_t(bytes), cudaMemcpyDeviceToDevice, nullptr));
}

int64_t cache_bytes() {
  int device = 0;
  ZT_CUDA(cudaGetDevice(&device));
  cudaDeviceProp properties{};
  ZT_CUDA(cudaGetDeviceProperties(&properties, device));
  return properties.l2CacheSize;
}

}  // namespace zoetrope
