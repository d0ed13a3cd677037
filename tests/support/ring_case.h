// Random plans of split samples, their attention in plain double loops, and the bounds of rounding that
// belong to it. Seeds make every case reproducible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/batch.h"
#include "schedule/plan.h"

namespace zoetrope::test {

/// Small deterministic number source for test cases.
class CaseRandom {
 public:
  explicit CaseRandom(uint64_t seed) : seed_(seed) {}
  /// Integer in [low, high].
  int64_t between(int64_t low, int64_t high);

 private:
  uint64_t seed_;
  uint64_t count_ = 0;
};

/// One wave: every sample on a random ring of up to `ranks` members with uneven shards. `idle`: this rank
/// gets no token (-1: none). Samples are listed per slot in random order.
Plan random_wave(const std::vector<int64_t>& lengths, int ranks, int idle, CaseRandom& random);

/// The micro-batch layout of a slot (no token payload).
MicroBatch layout_of(const Plan& plan, int64_t wave, int slot, const std::vector<int64_t>& lengths);

/// Attention of one whole sample and its gradients, row-major [S, D] (lse [S, H]).
struct WholeAttention {
  int64_t tokens = 0, heads = 1, head_width = 1;
  std::vector<double> q, k, v, dout;         // inputs
  std::vector<double> out, lse, dq, dk, dv;  // results
  /// Largest credible errors in multiples of the unit roundoff, see ring_case.cpp.
  double out_bound = 0, lse_bound = 0, dq_bound = 0, dk_bound = 0, dv_bound = 0;
};
/// Inputs drawn from the seed and rounded to `inputs` (f32 or bf16), results and bounds computed.
WholeAttention whole_attention(int64_t tokens, int64_t heads, int64_t head_width, uint64_t seed,
                               DType inputs);

}  // namespace zoetrope::test
