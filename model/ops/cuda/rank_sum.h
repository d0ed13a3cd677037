// The arithmetic of sums over ranks: in rank order, so that the bits depend on the rank count alone.
#pragma once

#include <cstdint>

namespace zoetrope::cuda {

/// own = v_0 + v_1 + ... in rank order, where v_rank is `own` and the others' lie in `received`, `stride`
/// elements apart, in rank order without the own. Queued on `stream`, a CUDA stream's handle. Shapes: own
/// [count] f32; received [ranks - 1, stride] f32.
void sum_in_rank_order(void* stream, float* own, const float* received, int64_t stride, int rank, int ranks,
                       int64_t count);

}  // namespace zoetrope::cuda
