// Faults planted in kernels and transport one by one: a barrier or a wait less, a buffer used twice, sums
// that go nowhere, a check of an edge left out. The tests of what they stand in must notice each.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/mutant.h"

namespace zoetrope::test {
namespace {

const char* const kNorm = "model/ops/cuda/norm.cu";
const char* const kRope = "model/ops/cuda/rope.cu";
const char* const kLoss = "model/ops/cuda/loss.cu";
const char* const kFlow = "model/ops/cuda/flow.cu";
const char* const kPointwise = "model/ops/cuda/pointwise.cu";
const char* const kWarp = "model/ops/cuda/warp.cuh";
const char* const kSums = "model/ops/cuda/segment_sums.cuh";
const char* const kRow = "model/ops/cuda/row_packs.cuh";
const char* const kVector = "model/ops/cuda/vector.cuh";

const char* const kSumBarrier = "__syncthreads();  // partial holds";
const char* const kFinishBarrier = "__syncthreads();  // all warps' sums";

/// What a thread takes for the sum when block_sum's barrier is missing in one kernel alone.
const char* const kUnsynced =
    "[&](float v, auto& p) { v = warp_sum(v); if (lane_index() == 0) p.sums[0][warp_index()] = v; return "
    "warp_sum(lane_index() < int(blockDim.x) / kWarp ? p.sums[0][lane_index()] : 0.0f); }";

std::vector<Mutant> mutants_of_operators() {
  const std::string unsynced = kUnsynced;
  return {
      {"norm mean without barrier", kNorm, "block_sum(total, shared.total)",
       unsynced + "(total, shared.total)", kNorm, "*LayerNorms"},
      {"norm variance without barrier", kNorm, "block_sum(squares, shared.squares)",
       unsynced + "(squares, shared.squares)", kNorm, "*LayerNorms"},
      {"norm sums in one buffer", kNorm, "block_sum(squares, shared.squares)",
       "block_sum(squares, shared.total)", kNorm, "*LayerNorms"},
      {"norm backward without barrier", kWarp, kSumBarrier, "// partial holds", kNorm, "*LayerNorms"},
      {"norm backward rows in one buffer", kNorm, "shared.sums[t % 2]", "shared.sums[0]", kNorm,
       "*LayerNorms"},
      {"norm columns not cleared", kNorm, "dscale.clear();", "", kNorm, "*LayerNorms"},
      {"wide norm columns not cleared", kNorm, "(fresh ? 0.0f : dscale[c])", "dscale[c]", kNorm,
       "*LayerNorms"},
      {"norm squares beyond the row", kNorm, "if (j < n) squares", "squares", kNorm, "*LayerNorms"},
      {"norm finish without barrier", kSums, kFinishBarrier, "// all warps' sums", kNorm, "*LayerNorms"},
      {"own sums of other threads", kRow, "mine_(memory + 4 * threadIdx.x)",
       "mine_(memory + 4 * (threadIdx.x / 2))", kNorm, "*LayerNorms"},
      {"rms without barrier", kRope, "block_sum(squares, shared.squares)",
       unsynced + "(squares, shared.squares)", kRope, "*RmsNormRope"},
      {"rms backward without barrier", kRope, "block_sum(projected, shared.projected[t % 2])",
       unsynced + "(projected, shared.projected[t % 2])", kRope, "*RmsNormRope"},
      {"rms backward rows in one buffer", kRope, "shared.projected[t % 2]", "shared.projected[0]", kRope,
       "*RmsNormRope"},
      {"wide rms rows in one buffer", kRope, "block.projected[t % 2]", "block.projected[0]", kRope,
       "*RmsNormRope"},
      {"rms finish without barrier", kSums, kFinishBarrier, "// all warps' sums", kRope, "*RmsNormRope"},
      {"gate finish without barrier", kSums, kFinishBarrier, "// all warps' sums", kPointwise,
       "*GateResidual"},
      {"last run of a block lost", kSums, "if (is_last) owner[num_blocks + blockIdx.x] = is_first ? -1 : s;",
       "if (is_last) owner[num_blocks + blockIdx.x] = -1;", kPointwise, "*GateResidual"},
      {"single runs counted twice", kSums, "= is_first ? -1 : s;", "= s;", kPointwise, "*GateResidual"},
      {"runs end at blocks alone", kSums, "|| segment[t] != s)", ")", kPointwise, "*GateResidual"},
      {"loads beyond the row", kVector, "pack[j] = j < n ? float(p[j]) : 0.0f;", "pack[j] = float(p[j]);",
       kNorm, "*LayerNorms"},
      {"rows end early", kVector, "if (j < n) p[j] = T(pack[j]);", "if (j + 1 < n) p[j] = T(pack[j]);",
       kPointwise, "*GateResidual"},
      {"squares without barrier", kWarp, kSumBarrier, "// partial holds", kLoss, "*SquaredError"},
      {"a lane's sum lost", kWarp, "distance > 0; distance /= 2", "distance > 1; distance /= 2", kLoss,
       "*SquaredError"},
      {"noise of the first token for all", kFlow, "key.token += t - segment.row_begin;", "", kFlow,
       "*FlowInputs*"},
      {"rows of the next segment", kFlow, "if (t < rows[middle].row_end)", "if (t <= rows[middle].row_end)",
       kFlow, "*FlowInputs*"},
  };
}

/// One, to see that planting works; all, when asked for: about 50 s of processor time each (tools/test.sh
/// mutants).
std::vector<Mutant> mutants() {
  std::vector<Mutant> all = mutants_of_operators();
  if (std::getenv("ZT_ALL_MUTANTS") == nullptr) return {all.back()};
  for (const auto& more :
       {read_mutants("tests/cuda/attention_mutants.txt", "model/ops/cuda", "cuda_attention_test"),
        read_mutants("tests/cuda/attention_hopper_mutants.txt", "model/ops/cuda",
                     "cuda_attention_hopper_test"),
        read_mutants("tests/cuda/cudnn_mutants.txt", "model/ops/cuda", "cuda_attention_cudnn_test"),
        read_mutants("tests/cuda/transport_mutants.txt", "parallel", "cuda_comm_nccl_test")})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

class BackendMutants : public testing::TestWithParam<Mutant> {};

TEST_P(BackendMutants, AreNoticed) {
  const Mutant& mutant = GetParam();
  const auto done = run_mutant(mutant);
  const std::string change = "'" + mutant.old_text + "' -> '" + mutant.new_text + "'\n";
  const bool crashed = mutant.may_crash && done.exit_code > 128;
  EXPECT_TRUE(crashed || done.output.find(": Failure") != std::string::npos) << change << done.output;
  EXPECT_NE(done.exit_code, 0) << change;
}

std::string name_of_mutant(const testing::TestParamInfo<Mutant>& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (!std::isalnum(uint8_t(c))) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Planted, BackendMutants, testing::ValuesIn(mutants()), name_of_mutant);

}  // namespace
}  // namespace zoetrope::test
