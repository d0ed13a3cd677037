// Charts: what is drawn is where the figures are.
#include "tools/svg.h"

#include <gtest/gtest.h>

#include "tests/support/markup.h"

namespace zoetrope {
namespace {

using testing_support::markup_fault;

TEST(Svg, TicksAreRoundAndCoverTheRange) {
  EXPECT_EQ(round_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks(1, 3, 4), (std::vector<double>{1, 1.5, 2, 2.5, 3}));
  EXPECT_EQ(round_ticks(4, 4, 4), (std::vector<double>{4}));
  for (double most : {0.37, 1.0, 99.0, 12345.0}) {
    const std::vector<double> ticks = round_ticks(0, most, 8);
    EXPECT_LE(ticks.size(), 9u) << most;
    EXPECT_GE(ticks.size(), 4u) << most;
    EXPECT_LE(ticks.back(), most * (1 + 1e-9));
  }
}

TEST(Svg, TimesHaveOneUnit) {
  EXPECT_EQ(time_label(1.5e9, 8e9), "1.5 s");
  EXPECT_EQ(time_label(1.5e9, 1.6e9), "1500 ms");
  EXPECT_EQ(time_label(2e3, 1e4), "2 µs");
  EXPECT_EQ(time_label(0, 1e9), "0");
}

TEST(Svg, GanttPutsSpansInPlace) {
  const std::string svg =
      gantt_svg({{"a<b", {{0, 25, "w0", "compute", 0}, {25, 100, "wait", "waits"}}}}, 200, 50);
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_NE(svg.find("class=\"w0\" x=\"84.00\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("class=\"wait\" x=\"209.00\""), std::string::npos) << svg;  // 84 + 1000 x 25 / 200
  EXPECT_NE(svg.find("width=\"375.00\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("class=\"bound\" d=\"M334.0"), std::string::npos) << svg;
  EXPECT_NE(svg.find("a&lt;b: compute, wave 0"), std::string::npos) << svg;
}

TEST(Svg, ManySpansShareAPathPerColour) {
  std::vector<GanttLane> lanes(50);
  for (size_t lane = 0; lane < lanes.size(); ++lane)
    for (int64_t i = 0; i < 100; ++i) lanes[lane].spans.push_back({i * 10, i * 10 + 10, wave_style(i)});
  const std::string svg = gantt_svg(lanes, 1000);
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_EQ(svg.find("<rect"), std::string::npos);
  EXPECT_LT(svg.size(), 50u * 100u * 40u);
}

TEST(Svg, NarrowSpansKeepTheirAreas) {
  GanttLane lane{"rank 0", {}};
  for (int64_t i = 0; i < 10'000; ++i) {  // a tenth of a pixel each: 7 parts compute, 3 parts wait
    lane.spans.push_back({i * 10, i * 10 + 7, "w0"});
    lane.spans.push_back({i * 10 + 7, i * 10 + 10, "wait", "waits"});
  }
  const std::string svg = gantt_svg({lane}, 100'000);
  double wait = 0;
  size_t count = 0;
  for (size_t at = svg.find("class=\"wait\""); at != std::string::npos;
       at = svg.find("class=\"wait\"", at + 1), ++count)
    wait += std::stod(svg.substr(svg.find(" width=\"", at) + 8));
  EXPECT_LE(count, 300u);
  EXPECT_GE(count, 200u);
  EXPECT_NEAR(wait, 300, 0.005 * double(count));  // widths are written with two digits
}

TEST(Svg, BarsAboveTheCapAreRed) {
  const std::string fine = bars_svg({5, 10, 10}, 10, "cap 10", "ranks"),
                    above = bars_svg({5, 11}, 10, "cap 10", "ranks");
  EXPECT_EQ(markup_fault(fine + above), "");
  EXPECT_EQ(fine.find("class=\"wait\""), std::string::npos);
  EXPECT_NE(above.find("class=\"wait\""), std::string::npos);
  EXPECT_NE(bars_svg(std::vector<double>(1000, 3), 5, "cap", "ranks").find("a bar is the most of 4"),
            std::string::npos);
}

TEST(Svg, LinesAndHistogramsAreSound) {
  LineChart chart{
      "GPUs", "speed-up", true, 1, {{"a", {8, 16, 64}, {1, 2, 1.5}}, {"b & c", {8}, {1}}, {"none", {}, {}}}};
  const std::string lines = lines_svg(chart);
  EXPECT_EQ(markup_fault(lines), "");
  EXPECT_NE(lines.find("b &amp; c, 8: 1"), std::string::npos);
  Histogram histogram{{1, 2, 4}, {30, 70}, {5, 95}, "samples", "work", 3, "cap 3"};
  const std::string bars = histogram_svg(histogram);
  EXPECT_EQ(markup_fault(bars), "");
  EXPECT_NE(bars.find("2 to 3 tokens: 70.00 % of the samples"), std::string::npos) << bars;
  EXPECT_NE(bars.find("1 to 1 tokens: 5.00 % of the work"), std::string::npos) << bars;
}

}  // namespace
}  // namespace zoetrope
