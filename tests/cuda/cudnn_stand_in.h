// A stand-in of ours for cuDNN behind cudnn_attention.h, for tests without a GPU: plans are attention in
// plain loops, over the pointers, offsets and lengths that they are given, as operations of an emulated
// stream. It shows that packing, offsets, order and lifetime are right; cuDNN's own numbers and kernels it
// can't show.
#pragma once

#include <cstdint>

namespace zoetrope::test {

struct CudnnStandIn {
  bool padded_lse = false;            ///< as the backward passes of sm_8x want it
  bool reproducible_backward = true;  ///< whether there is one
  int64_t workspace_bytes = 1000;     ///< that plans want; they overwrite it
  int64_t built = 0, forward_runs = 0, backward_runs = 0;
};
/// What tests set and count; set anew by each.
CudnnStandIn& cudnn_stand_in();

}  // namespace zoetrope::test
