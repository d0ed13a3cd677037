// What the traces are made of: random numbers of one sample, and a few kinds of distributions.
#pragma once

#include <cstdint>
#include <vector>

#include "core/rng.h"
#include "schedule/trace.h"

namespace zoetrope {

/// The random numbers of one sample, one after the other.
class TraceDraws {
 public:
  TraceDraws(uint64_t seed, int64_t sample) : key_{seed, Purpose::kTrace, sample, 0} {}
  /// Uniform in (0, 1), 53 bits.
  double uniform();
  /// Standard normal.
  double normal();
  /// Uniform among the whole numbers of [low, high].
  int64_t integer(int64_t low, int64_t high);

 private:
  RandomKey key_;
  int64_t next_ = 0;
};

/// One of several lengths, as likely as its part of all weights.
struct TraceCell {
  int64_t tokens = 0;
  double weight = 0;
};
/// The cell that a uniform number falls into. Returns its tokens.
int64_t pick_cell(const std::vector<TraceCell>& cells, double uniform);

/// Tokens of a clip: latent frames x (height / 16) x (width / 16), a latent frame holding the first frame or
/// four later ones; the auto-encoder's strides are 4 and 8, the patch's 1 and 2.
int64_t video_tokens(int64_t frames, int64_t height, int64_t width);

/// exp(N(ln(mean) - sigma^2 / 2, sigma)): lognormal with this mean.
double draw_lognormal(TraceDraws& draws, double mean, double sigma);

/// The traces of video mixes and of texts, a file each.
std::vector<Trace> video_traces();
std::vector<Trace> text_traces();
/// `lognormal:MEAN:SIGMA:LO:HI` with its numbers.
Trace lognormal_trace(const std::string& name, double mean, double sigma, int64_t low, int64_t high);

}  // namespace zoetrope
