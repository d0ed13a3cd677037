// Runs ContextAttention on one rank of a random plan and compares its rows with whole-sample attention.
#pragma once

#include <array>
#include <vector>

#include "model/ops/ops.h"
#include "parallel/context_attention.h"
#include "tests/support/ring_case.h"

namespace zoetrope::test {

/// A plan with one wave, its samples, and their whole attention.
struct RingCase {
  int64_t heads = 2, head_width = 16;
  std::vector<int64_t> lengths;
  Plan plan;
  std::vector<WholeAttention> whole;
};
/// `idle`: rank without tokens (-1: none).
RingCase make_ring_case(uint64_t seed, int ranks, int idle, std::vector<int64_t> lengths,
                        DType inputs = DType::kF32, int64_t head_width = 16);

enum class PlantedFault { kNone, kSkipStep, kLoseGradient, kShiftedRows };

/// What a rank computed: out, lse, dq, dk, dv as bytes (to compare runs bit for bit), and their largest
/// errors.
struct RingOutcome {
  std::vector<std::byte> bytes;
  std::array<double, 5> errors{};
  double worst = 0;  ///< largest error in multiples of its bound (f32 and f64)
  ExchangeStats stats;
};
/// Forward and backward of this rank's rows, compared with the whole samples.
RingOutcome run_ring_case(const RingCase& ring_case, Comm& comm, const Ops& ops, Arena& arena,
                          Precision precision, PlantedFault fault);

}  // namespace zoetrope::test
