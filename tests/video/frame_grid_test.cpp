// Exact times: decimal texts, rates, and where timestamps lie on the grid.
#include <gtest/gtest.h>
#include <limits>

#include "core/check.h"
#include "video/media/frame_grid.h"

namespace zoetrope {
namespace {

TEST(FrameGrid, IsExactWhereDoublesAreNot) {
  const FrameGrid grid({24000, 1001}, {}, {1001, 24000});
  for (int64_t k : {0ll, 1ll, 2ll, 12345ll, 99999999ll, 5000000000ll}) {
    EXPECT_EQ(grid.first_at_or_after(k), k);
  }
  const FrameGrid thirds({3, 1}, {}, {1, 90000});
  EXPECT_EQ(thirds.first_at_or_after(30000), 1);
  EXPECT_EQ(thirds.first_at_or_after(30001), 2);
  EXPECT_EQ(thirds.first_at_or_after(-5), 0);
  EXPECT_EQ(FrameGrid({8, 1}, {1, 2}, {1, 1000}).first_at_or_after(500), 0);
  EXPECT_EQ(FrameGrid({8, 1}, {1, 2}, {1, 1000}).first_at_or_after(626), 2);
  EXPECT_EQ(thirds.first_at_or_after_seconds(seconds_of_double(1e300)), 3000000000);
}

TEST(FrameGrid, ReadsRates) {
  EXPECT_EQ(ratio_of_fps(8).num, 8);
  EXPECT_EQ(ratio_of_fps(30000.0 / 1001).num, 30000);
  EXPECT_EQ(ratio_of_fps(30000.0 / 1001).den, 1001);
  EXPECT_EQ(ratio_of_fps(29.97).den, 100);
  EXPECT_EQ(ratio_of_fps(0.5).den, 2);
}

TEST(FrameGrid, IsNotUpsetByAbsurdTimes) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const FrameGrid grid({1000000, 1}, {1, 3}, {2147483647, 1});
  EXPECT_GT(grid.first_at_or_after(most), most / 4);
  EXPECT_EQ(grid.first_at_or_after(-most), 0);
}

TEST(Ratio, ReadsDecimalTextExactly) {
  const struct {
    const char* text;
    Ratio expected;
  } cases[] = {{"0", {0, 1}},
               {"12", {12, 1}},
               {"0.1", {1, 10}},
               {".5", {1, 2}},
               {"5.", {5, 1}},
               {"0.0667", {667, 10000}},
               {"1.5e-1", {15, 100}},
               {"2E2", {200, 1}},
               {"-0.25", {-1, 4}},
               {"+3", {3, 1}},
               {"1e9", {1000000000, 1}},
               {"1e-400", {0, 1}},
               {"0.0333333333", {33333333, 1000000000}},
               {"0.0666666667", {66666667, 1000000000}},
               {"100000000000000000000000000000000e-30", {100, 1}},
               {"0.00000000000000000000000000000000000000001", {0, 1}}};
  for (const auto& [text, expected] : cases) {
    const Ratio found = seconds_of_text(text);
    EXPECT_TRUE(found == expected) << text << ": " << found.num << "/" << found.den;
  }
  for (const char* text : {"", ".", "-", "e5", "1e", "1x", "1.2.3", "0x10", "nan", "inf", "1e10", "1 ", " 1",
                           "99999999999999999999999999999999999999999999"})
    EXPECT_THROW(seconds_of_text(text), Error) << text;
}

TEST(Ratio, TakesADoubleByItsDecimalText) {
  for (double seconds : {0.1, 0.3, 1.0 / 3, 12345.678901, 0.0, -2.5})
    EXPECT_NEAR(seconds_of_double(seconds).value(), seconds, 0.5e-9 + 1e-16 * seconds);
  EXPECT_TRUE(seconds_of_double(0.3) == (Ratio{3, 10}));
  EXPECT_TRUE(seconds_of_double(1e300) == (Ratio{1000000000, 1}));
  EXPECT_TRUE(Ratio({1, 3}) < Ratio({33333334, 100000000}) && Ratio({33333333, 100000000}) < Ratio({1, 3}));
}

}  // namespace
}  // namespace zoetrope
