#include "core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "core/check.h"

namespace zoetrope {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int threads : {1, 2, 3, 5}) {
    const ThreadPool pool(threads);
    for (int64_t tasks : {0, 1, 2, 31, 257}) {
      std::vector<std::atomic<int>> runs(size_t(tasks) + 1);
      pool.parallel_for(tasks, [&](int64_t i) { ++runs[size_t(i)]; });
      for (int64_t i = 0; i < tasks; ++i) EXPECT_EQ(runs[size_t(i)], 1);
    }
  }
}

TEST(ThreadPool, ThrowsTheTasksErrorAndGoesOn) {
  const ThreadPool pool(3);
  EXPECT_THROW(pool.parallel_for(100, [](int64_t i) { ZT_CHECK(i != 57, "task ", i); }), Error);
  std::atomic<int> runs{0};
  pool.parallel_for(100, [&](int64_t) { ++runs; });
  EXPECT_EQ(runs, 100);
}

TEST(ThreadPool, ThreadIndexIsInRange) {
  const ThreadPool pool(4);
  std::atomic<bool> in_range{true};
  pool.parallel_for_indexed(1000, [&](int64_t, int thread) {
    if (thread < 0 || thread >= 4) in_range = false;
  });
  EXPECT_TRUE(in_range);
}

}  // namespace
}  // namespace zoetrope
