#include "core/clocks.h"

#include <gtest/gtest.h>
#include <algorithm>

namespace zoetrope {
namespace {

/// The first later reading.
int64_t step_of(ClockNs clock) {
  const int64_t start = clock();
  int64_t now = start;
  while (now == start) now = clock();
  return now - start;
}

TEST(Clocks, WorkIsTimedByAClockThatCountsFine) {
  EXPECT_EQ(work_clock(2), &wall_ns);
  const bool fine = thread_cpu_step_ns() <= kFineClockNs;
  EXPECT_EQ(work_clock(1), fine ? &thread_cpu_ns : &wall_ns);
  // A neighbour may lie between two readings, but not between each two of a hundred.
  int64_t least = step_of(work_clock(1));
  for (int i = 0; i < 100; ++i) least = std::min(least, step_of(work_clock(1)));
  EXPECT_GT(least, 0);
  EXPECT_LE(least, kFineClockNs);
}

}  // namespace
}  // namespace zoetrope
