#include "core/clocks.h"

#include <algorithm>
#include <ctime>
#include <vector>

namespace zoetrope {
namespace {

constexpr int64_t kPatienceNs = 50'000'000;

int64_t read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

int64_t measure_step() {
  std::vector<int64_t> steps;
  int64_t last = thread_cpu_ns();
  const int64_t end = wall_ns() + kPatienceNs;
  while (steps.size() < 100 && wall_ns() < end) {
    const int64_t now = thread_cpu_ns();
    if (now > last) steps.push_back(now - last);
    last = now;
  }
  if (steps.empty()) return kPatienceNs;
  const auto median = steps.begin() + std::ptrdiff_t(steps.size() / 2);
  std::nth_element(steps.begin(), median, steps.end());
  return std::min(*median, kPatienceNs);
}

}  // namespace

int64_t wall_ns() { return read(CLOCK_MONOTONIC); }
int64_t thread_cpu_ns() { return read(CLOCK_THREAD_CPUTIME_ID); }

int64_t thread_cpu_step_ns() {
  static const int64_t step = measure_step();
  return step;
}

ClockNs work_clock(int64_t num_threads) {
  return num_threads == 1 && thread_cpu_step_ns() <= kFineClockNs ? thread_cpu_ns : wall_ns;
}

}  // namespace zoetrope
