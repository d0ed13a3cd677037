// Traces against the figures they are made from; tolerances are five standard errors of the sample.
#include "schedule/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/check.h"
#include "schedule/trace_parts.h"

namespace zoetrope {
namespace {

constexpr uint64_t kSeed = 3;
constexpr double kErrors = 5;  // one in two million of true figures lies farther off

std::vector<int64_t> draw(const std::string& name, int64_t count) {
  return trace_lengths(find_trace(name), kSeed, 0, count);
}

/// The share of lengths for which `is_in` holds, against the published one.
template <class Condition>
void expect_share(const std::vector<int64_t>& lengths, double share, const Condition& is_in,
                  const std::string& what) {
  const double n = double(lengths.size()),
               seen = double(std::count_if(lengths.begin(), lengths.end(), is_in)) / n;
  EXPECT_LE(std::abs(seen - share), kErrors * std::sqrt(share * (1 - share) / n))
      << what << ": " << seen << " for " << share << " (seed " << kSeed << ")";
}

struct Mean {
  double value = 0, error = 0;  ///< and its standard error
};
Mean mean_of(const std::vector<int64_t>& lengths) {
  const double n = double(lengths.size());
  double sum = 0, squares = 0;
  for (int64_t tokens : lengths) sum += double(tokens), squares += double(tokens) * double(tokens);
  return {sum / n, std::sqrt((squares / n - sum / n * (sum / n)) / n)};
}

double below_normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(Trace, JointStepsHaveTheirExactComposition) {
  constexpr int64_t kStep = 89, kSteps = 8;
  const std::vector<int64_t> lengths = draw("t1", kStep * kSteps);
  const std::map<int64_t, int64_t> expected{{256, 32},  {1024, 20}, {4096, 13},
                                            {6400, 16}, {16384, 4}, {25600, 4}};
  std::vector<int64_t> text;
  std::vector<std::vector<int64_t>> orders;
  for (int64_t step = 0; step < kSteps; ++step) {
    std::map<int64_t, int64_t> seen;
    orders.emplace_back();
    for (int64_t i = step * kStep; i < (step + 1) * kStep; ++i) {
      const int64_t pictures = std::prev(expected.upper_bound(lengths[size_t(i)]))->first;
      ++seen[pictures];
      orders.back().push_back(pictures);
      text.push_back(lengths[size_t(i)] - pictures);
    }
    EXPECT_EQ(seen, expected) << step;
  }
  EXPECT_GE(*std::min_element(text.begin(), text.end()), 0);
  EXPECT_LE(*std::max_element(text.begin(), text.end()), 392);
  EXPECT_LE(std::abs(mean_of(text).value - 196), kErrors * mean_of(text).error);
  EXPECT_NE(orders[0], orders[1]) << "steps are shuffled by keys of their own";
}

TEST(Trace, StagedMixHasItsImagesAndClips) {
  const std::vector<int64_t> lengths = draw("t2", 40000);
  expect_share(
      lengths, 0.1, [](int64_t t) { return t == 256; }, "256 px images");
  // 5 to 21 latent frames; 1560 and 3600 alone are images.
  expect_share(
      lengths, 0.6 * 0.2, [](int64_t t) { return t > 1024 && t <= 21 * 252 && t % 252 == 0; }, "192p");
  expect_share(
      lengths, 0.6 * 0.5, [](int64_t t) { return t > 1560 && t <= 21 * 1560 && t % 1560 == 0; }, "480p");
  expect_share(
      lengths, 0.6 * 0.3, [](int64_t t) { return t > 3600 && t % 3600 == 0; }, "720p");
  expect_share(
      lengths, 0.6 * 0.3 / 17, [](int64_t t) { return t == 21 * 3600; }, "81 frames at 720p");
}

TEST(Trace, DurationsAreLognormal) {
  const std::vector<int64_t> lengths = draw("t3", 40000);
  const double mu = std::log(8.5) - 0.32;
  // 240p: 390 tokens a latent frame, 1 + floor(4 x seconds) of them.
  const auto share_below = [&](double seconds) { return below_normal((std::log(seconds) - mu) / 0.8); };
  expect_share(
      lengths, 0.4 * (1 - share_below(16)), [](int64_t t) { return t == 65 * 390; }, "cut at 16 s, 240p");
  expect_share(
      lengths, 0.2 * (1 - share_below(16)), [](int64_t t) { return t == 65 * 3600; }, "cut at 16 s, 720p");
  expect_share(
      lengths, 0.2 * share_below(1.25), [](int64_t t) { return t == 5 * 3600; }, "up to 1.25 s, 720p");
}

TEST(Trace, ZipfTableHasItsShares) {
  const std::vector<int64_t> lengths = draw("t9", 40000);
  for (const auto& [tokens, share] : std::vector<std::pair<int64_t, double>>{
           {2160, .296}, {4320, .187}, {8640, .088}, {54000, .009}, {432000, .004}})
    expect_share(
        lengths, share, [tokens = tokens](int64_t t) { return t == tokens; }, std::to_string(tokens));
  EXPECT_LE(std::abs(mean_of(lengths).value - 15037.38), kErrors * mean_of(lengths).error);
}

TEST(Trace, BucketsWeighTheirBatches) {
  // Stage 2: batches of 130 images, 8 lengths each at 14, 10, 7 and 6 clips; 768 px 38 and 8 each at 6, 4,
  // 3, 2.
  const double all = 130 + 8 * (14 + 10 + 7 + 6) + 38 + 8 * (6 + 4 + 3 + 2);
  const std::vector<int64_t> lengths = draw("t10", 40000);
  expect_share(
      lengths, 130 / all, [](int64_t t) { return t == 256; }, "256 px images");
  expect_share(
      lengths, 2 / all, [](int64_t t) { return t == 76032; }, "768 px, 129 frames");
  // 33 latent frames of 256 px; 768 px frames hold nine times as many tokens, and 33 is no multiple of nine.
  expect_share(
      lengths, 6 / all, [](int64_t t) { return t == 8448; }, "256 px, 129 frames");
  const double first = 45 + 8 * (12 + 6 + 4 + 3) + 6.5 + 3.5;
  const std::vector<int64_t> images = draw("t10-stage1", 40000);
  expect_share(
      images, 45 / first, [](int64_t t) { return t == 256; }, "256 px images");
}

TEST(Trace, VideoMixHasItsShares) {
  const std::vector<int64_t> lengths = draw("video-mix", 40000);
  expect_share(
      lengths, .45 * .35, [](int64_t t) { return t == 16 * 28; }, "256x448 images");
  expect_share(
      lengths, .40 * .13, [](int64_t t) { return t == 21 * 1560; }, "480x832, 81 frames");
  expect_share(
      lengths, .15 * .05, [](int64_t t) { return t == 31 * 3600; }, "720x1280, 121 frames");
}

/// Published quantiles: this share of the documents is longer than so many tokens.
struct Tail {
  double share;
  int64_t tokens;
};

TEST(Trace, TextsMeetTheirPublishedQuantiles) {
  const std::map<std::string, std::vector<Tail>> published{
      {"t5",
       {{.5, 347}, {.1, 2112}, {.016, 8192}, {.01, 10921}, {.0013, 32768}, {.001, 37367}, {5e-5, 131072}}},
      {"t7", {{.5, 1914}, {.1, 6051}, {.01, 16273}, {.002, 32768}, {.001, 47500}}},
      {"t8", {{.5, 3227}, {.1, 5784}, {.01, 26070}, {.009, 32768}, {.001, 119836}}}};
  for (const auto& [name, tails] : published) {
    const std::vector<int64_t> lengths = draw(name, 100000);
    for (const Tail& tail : tails)
      expect_share(
          lengths, tail.share, [&](int64_t t) { return t > tail.tokens; },
          name + " above " + std::to_string(tail.tokens));
  }
}

TEST(Trace, TextsComeNearTheirPublishedMeans) {
  // Published mean, and the one that the quantiles and sigmas of trace_text.cpp give.
  const std::map<std::string, std::pair<double, double>> means{
      {"t5", {1014, 1025}}, {"t7", {3052, 3012}}, {"t8", {3962, 3963}}};
  for (const auto& [name, mean] : means) {
    const Mean seen = mean_of(draw(name, 200000));
    std::printf("%s: mean %.0f +- %.0f, published %.0f\n", name.c_str(), seen.value, seen.error, mean.first);
    EXPECT_LE(std::abs(seen.value - mean.second), kErrors * seen.error) << name;
  }
}

TEST(Trace, DocumentHistogramHasItsShares) {
  const std::vector<int64_t> lengths = draw("t6", 100000);
  const double all = 100.02;  // the published shares are rounded
  expect_share(
      lengths, 28.19 / all, [](int64_t t) { return t > 200 && t <= 500; }, "200 to 500");
  expect_share(
      lengths, .14 / all, [](int64_t t) { return t > 131072 && t <= 196608; }, "128K to 192K");
  expect_share(
      lengths, .22 / all, [](int64_t t) { return t <= 10; }, "up to 10");
}

TEST(Trace, LognormalsAreClipped) {
  for (const std::string name : {"t4", "lognormal:1024:1.5:128:8192"}) {
    const std::vector<int64_t> lengths = draw(name, 40000);
    const double mu = std::log(1024) - 1.125;
    expect_share(
        lengths, 1 - below_normal((std::log(8192) - mu) / 1.5), [](int64_t t) { return t == 8192; }, name);
    expect_share(
        lengths, below_normal((std::log(128) - mu) / 1.5), [](int64_t t) { return t < 129; }, name);
    expect_share(
        lengths, below_normal((std::log(500) - mu) / 1.5), [](int64_t t) { return t < 500; }, name);
  }
  EXPECT_EQ(draw("t4", 100), draw("lognormal:1024:1.5:128:8192", 100));
  for (int64_t tokens : draw("lognormal:700:0:1:2000", 20)) EXPECT_NEAR(double(tokens), 700, 1);  // truncated
}

// A change here is a change of every figure that was printed for a trace.
TEST(Trace, FirstLengthsArePinned) {
  const std::map<std::string, std::vector<int64_t>> pinned{{"t1", {560, 315, 397, 4227, 460}},
                                                           {"t2", {12480, 1024, 3600, 3600, 50400}},
                                                           {"t3", {10920, 68400, 101400, 25350, 39600}},
                                                           {"t4", {414, 201, 2177, 2916, 128}},
                                                           {"t5", {427, 228, 2029, 2743, 88}},
                                                           {"t6", {1191, 122, 465, 486, 740}},
                                                           {"t7", {2183, 1496, 5898, 7083, 853}},
                                                           {"t8", {3450, 2076, 5710, 7350, 761}},
                                                           {"t9", {13200, 2160, 4320, 4320, 5850}},
                                                           {"t10", {2304, 256, 1792, 1536, 4096}},
                                                           {"t10-stage1", {5120, 256, 1280, 1280, 2304}},
                                                           {"video-mix", {20280, 448, 5824, 5824, 1560}}};
  for (const Trace& trace : built_in_traces()) {
    const std::vector<int64_t> first = trace_lengths(trace, 0, 0, 5);
    ASSERT_TRUE(pinned.count(trace.name)) << trace.name;
    EXPECT_EQ(first, pinned.at(trace.name)) << trace.name;
  }
}

TEST(Trace, ASampleDependsOnSeedAndNumberAlone) {
  for (const Trace& trace : built_in_traces()) {
    const std::vector<int64_t> all = trace_lengths(trace, kSeed, 0, 400);
    EXPECT_EQ(trace_lengths(trace, kSeed, 250, 100),
              std::vector<int64_t>(all.begin() + 250, all.begin() + 350))
        << trace.name;
    EXPECT_NE(trace_lengths(trace, kSeed + 1, 0, 400), all) << trace.name;
    EXPECT_GE(*std::min_element(all.begin(), all.end()), 1) << trace.name;
    EXPECT_FALSE(trace.what.empty() || trace.source.empty()) << trace.name;
  }
}

TEST(Trace, WrongNamesSayWhatThereIs) {
  for (const char* name :
       {"", "t0", "t11", "T1", "video", "lognormal", "lognormal:", "lognormal:1:2:3", "lognormal:1:2:3:4:5",
        "lognormal:x:1:1:9", "lognormal:0:1:1:9", "lognormal:nan:1:1:9", "lognormal:9:-1:1:9",
        "lognormal:9:1:0:9", "lognormal:9:1:9:1", "lognormal:9:1:1:9 ", "lognormal:9:1:1.5:9",
        "lognormal:9:1:1:99999999999"}) {
    try {
      find_trace(name);
      ADD_FAILURE() << name;
    } catch (const UsageError& problem) {
      const std::string said = problem.what();
      for (const Trace& trace : built_in_traces())
        EXPECT_NE(said.find("\n  " + trace.name + " "), std::string::npos) << name << ": " << said;
      EXPECT_NE(said.find("lognormal:MEAN:SIGMA:LO:HI"), std::string::npos) << name;
    }
  }
}

}  // namespace
}  // namespace zoetrope
