// How the host describes a matrix in device memory to the tensor memory accelerator (copy_tile in
// ptx_sm90.cuh).
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdint>

#include "core/cuda_check.h"
#include "core/dtype.h"

namespace zoetrope::cuda {

/// The driver's call, asked for once so that nothing is linked with libcuda. Throws: Error when the driver
/// has none.
inline decltype(&cuTensorMapEncodeTiled) tensor_map_encoder() {
  static const auto found = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult result;
    constexpr unsigned kSince = 12000;  // the CUDA version that brought the call
    ZT_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, kSince, cudaEnableDefault,
                                             &result));
    ZT_CHECK(result == cudaDriverEntryPointSuccess,
             "the driver has no cuTensorMapEncodeTiled; install one for CUDA 12");
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
  }();
  return found;
}

/// A bf16 matrix of `rows` rows, `stride` elements apart, cut into boxes of box_rows x 64: 128-byte rows,
/// swizzled. Throws: Error when the driver has no such call, or refuses (rows must start on multiples of 16
/// bytes).
inline CUtensorMap swizzled_boxes(const bf16* data, int64_t rows, int64_t columns, int64_t stride,
                                  int box_rows) {
  const cuuint64_t sizes[2] = {cuuint64_t(columns), cuuint64_t(rows)};
  const cuuint64_t row_bytes[1] = {cuuint64_t(stride) * sizeof(bf16)};
  const cuuint32_t box[2] = {64, cuuint32_t(box_rows)}, steps[2] = {1, 1};
  CUtensorMap map;
  const CUresult result =
      tensor_map_encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<bf16*>(data), sizes,
                           row_bytes, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                           CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  ZT_CHECK(result == CUDA_SUCCESS, "the driver refuses a matrix of ", rows, " x ", columns, " with stride ",
           stride, " in boxes of ", box_rows, " rows (error ", int(result), ")");
  return map;
}

}  // namespace zoetrope::cuda
