// Random problems through all planners: a few small ones each time, of all sizes for ZT_FUZZ_SECONDS=600, one
// of these again with ZT_FUZZ_SEED=N.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "core/check.h"
#include "tests/support/fuzz_plan.h"
#include "tests/support/rounds.h"

namespace zoetrope {
namespace {

constexpr double kSecondsPerPlanner = 60;
constexpr size_t kSmall = 640;  // samples x slots: planned in milliseconds

TEST(PlanFuzz, EveryPlannerKeepsTheLawsInTime) {
  const char *seconds_text = std::getenv("ZT_FUZZ_SECONDS"), *seed_text = std::getenv("ZT_FUZZ_SEED");
  const double seconds = seconds_text ? std::atof(seconds_text) : 0;
  const uint64_t first = seed_text ? std::strtoull(seed_text, nullptr, 10) : std::random_device{}();
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const bool is_long = seconds > 0 || seed_text;
  const int64_t least = seed_text ? 1 : rounds(80);
  FuzzStatistics statistics;
  int64_t failures = 0;
  for (int64_t i = 0; (i < least || passed() < seconds) && failures < 20; ++i) {
    const FuzzCase problem = random_case(first + uint64_t(i));
    if (!is_long && problem.lengths.size() * size_t(problem.cluster.num_slots) > kSmall) continue;
    try {
      check_case(problem, kSecondsPerPlanner, statistics);
    } catch (const Error& error) {
      ++failures;
      ADD_FAILURE() << error.what() << "\nagain: ZT_FUZZ_SEED=" << problem.seed;
    }
  }
  std::printf("%s", statistics.text().c_str());
}

}  // namespace
}  // namespace zoetrope
