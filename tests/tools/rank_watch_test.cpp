// What ranks tell their launcher about errors, and what it prints of that.
#include "tools/rank_watch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>

#include "core/check.h"

namespace zoetrope {
namespace {

std::unique_ptr<RankReport> report_of(const RankWatch& launcher, int rank) {
  setenv("ZOETROPE_LAUNCHED", launcher.address().c_str(), 1);
  setenv("OMPI_COMM_WORLD_RANK", join_message(rank).c_str(), 1);
  auto report = std::make_unique<RankReport>();
  for (const char* name : {"ZOETROPE_LAUNCHED", "OMPI_COMM_WORLD_RANK"}) unsetenv(name);
  return report;
}

void collect_all(RankWatch& launcher) {
  while (launcher.collect()) {}
}

TEST(RankWatch, PrintsEachMessageOnce) {
  RankWatch launcher;
  std::unique_ptr<RankReport> ranks[3];
  testing::internal::CaptureStderr();
  for (int rank = 0; rank < 3; ++rank) ranks[rank] = report_of(launcher, rank);
  collect_all(launcher);
  for (const auto& [rank, message] : {std::pair{2, "no data"}, {0, "no data"}, {1, "no disk\nat all"}}) {
    EXPECT_TRUE(ranks[rank]->fails(message));
    collect_all(launcher);
  }
  for (auto& rank : ranks) rank.reset();
  collect_all(launcher);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: rank 2: no data\nerror: rank 1: no disk\nat all\n");
  EXPECT_FALSE(launcher.first_death().has_value());
}

TEST(RankWatch, LeavesToTheRankWhatItWillNotPrint) {
  EXPECT_FALSE(RankReport().fails("no launcher"));
  RankWatch launcher;
  testing::internal::CaptureStderr();
  {
    const auto rank = report_of(launcher, 0);
    EXPECT_FALSE(rank->fails(std::string(1 << 20, 'x')));
  }
  collect_all(launcher);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace zoetrope
