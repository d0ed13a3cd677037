// Lengths of text corpora, to compare with planners for language models. Only statistics are public, so a
// text trace is a lognormal body below the median, and above it lognormal pieces from one published quantile
// to the next: ln(length) is linear in the normal score between them. The quantiles are met exactly.
#include <algorithm>
#include <cmath>

#include "schedule/trace_parts.h"

namespace zoetrope {
namespace {

/// This share of all samples is not longer than `tokens`.
struct Quantile {
  double share, tokens;
};

/// The x below which a standard normal number lies with this probability.
double normal_score(double share) {
  double low = -9, high = 9;
  for (int step = 0; step < 80; ++step) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < share ? low : high) = middle;
  }
  return high;
}

/// Normal scores and logarithms of quantiles, and the body's sigma below the first of them.
class TextLengths {
 public:
  TextLengths(double body_sigma, const std::vector<Quantile>& quantiles, double most)
      : body_sigma_(body_sigma), most_(most) {
    for (const Quantile& each : quantiles)
      points_.push_back({normal_score(each.share), std::log(each.tokens)});
  }

  int64_t operator()(uint64_t seed, int64_t sample) const {
    const double score = TraceDraws(seed, sample).normal();
    double log_tokens = points_.back().log_tokens;
    if (score < points_[0].score) {
      log_tokens = points_[0].log_tokens + body_sigma_ * (score - points_[0].score);
    } else {
      for (size_t i = 1; i < points_.size(); ++i) {
        const Point &a = points_[i - 1], &b = points_[i];
        if (score >= b.score) continue;
        log_tokens = a.log_tokens + (b.log_tokens - a.log_tokens) * (score - a.score) / (b.score - a.score);
        break;
      }
    }
    return int64_t(std::clamp(std::ceil(std::exp(log_tokens)), 1.0, most_));
  }

 private:
  struct Point {
    double score, log_tokens;
  };
  double body_sigma_, most_;
  std::vector<Point> points_;
};

/// A histogram's upper edges and shares in per cent; log-uniform inside a bin, since the source says no more.
struct Bin {
  double upper, share;
};
constexpr Bin kDocumentBins[] = {{10, .22},     {50, 2.91},    {100, 5.2},    {200, 10.23}, {500, 28.19},
                                 {1024, 24.64}, {2048, 15.65}, {4096, 7.34},  {8192, 3.05}, {16384, 1.29},
                                 {32768, .85},  {65536, .14},  {131072, .17}, {196608, .14}};

int64_t histogram_tokens(uint64_t seed, int64_t sample) {
  static const std::vector<TraceCell> uppers = [] {
    std::vector<TraceCell> cells;
    for (const Bin& bin : kDocumentBins) cells.push_back({int64_t(bin.upper), bin.share});
    return cells;
  }();
  TraceDraws draws(seed, sample);
  const int64_t upper = pick_cell(uppers, draws.uniform());
  int64_t lower = 0;
  for (const Bin& bin : kDocumentBins)
    if (int64_t(bin.upper) < upper) lower = int64_t(bin.upper);
  const double low = std::log(double(lower) + 1), high = std::log(double(upper) + 1);
  return std::clamp(int64_t(std::exp(low + (high - low) * draws.uniform())), lower + 1, upper);
}

int64_t clipped_lognormal(uint64_t seed, int64_t sample, double mean, double sigma, int64_t low,
                          int64_t high) {
  TraceDraws draws(seed, sample);
  return int64_t(std::clamp(draw_lognormal(draws, mean, sigma), double(low), double(high)));
}

}  // namespace

std::vector<Trace> text_traces() {
  // t5: sigma as published; of 10^6 documents the longest has 1.82M tokens, cut here at 192K. The mean comes
  // out at about 1,025 for 1,014; 1.6 % above 8K and 0.13 % above 32K as published.
  const TextLengths wikipedia(
      1.258, {{.5, 347}, {.9, 2112}, {.99, 10921}, {.999, 37367}, {1 - 5e-5, 131072}, {1 - 1e-6, 1.82e6}},
      196608);
  // t7: sigma as published; 77,932 documents. The mean comes out at 3,012 for 3,052.
  const TextLengths prolong(
      0.738, {{.5, 1914}, {.9, 6051}, {.99, 16273}, {.998, 32768}, {.999, 47500}, {1 - 1.0 / 77932, 340000}},
      340000);
  // t8: 99,519 documents; no sigma is published, this one gives the published mean of 3,962.
  const TextLengths documents(
      1.32, {{.5, 3227}, {.9, 5784}, {.99, 26070}, {.991, 32768}, {.999, 119836}, {1 - 1.0 / 99519, 124913}},
      124913);
  return {
      {"t4", "lognormal of mean 1024 and sigma 1.5, clipped to 128 to 8192", "Megatron-LM, dev example",
       [](uint64_t seed, int64_t sample) { return clipped_lognormal(seed, sample, 1024, 1.5, 128, 8192); }},
      {"t5", "Wikipedia: median 347, 1 % above 10,921, cut at 192K", "lengths of FlexSP, arXiv 2412.01523",
       wikipedia},
      {"t6", "documents: histogram of 14 bins up to 192K, log-uniform inside", "MagiAttention",
       histogram_tokens},
      {"t7", "ProLong: median 1,914, 1 % above 16,273, up to 340K", "lengths of DistCA, arXiv 2510.18121",
       prolong},
      {"t8", "WLB-LLM: median 3,227, 1 % above 26,070, up to 125K", "lengths of DistCA, arXiv 2510.18121",
       documents},
  };
}

Trace lognormal_trace(const std::string& name, double mean, double sigma, int64_t low, int64_t high) {
  return {name, "lognormal, clipped", "as given", [=](uint64_t seed, int64_t sample) {
            return clipped_lognormal(seed, sample, mean, sigma, low, high);
          }};
}

}  // namespace zoetrope
