// The checks of model/ops/checks.h for CUDA's ops: tensors must be on the device too.
#pragma once

#include "model/ops/checks.h"

namespace zoetrope::cuda {

using checks::check_same_type;
using checks::dispatch;

/// Throws unless `t` is in memory of the device.
inline void check_device(const char* op, const char* name, const Tensor& t) {
  checks::check_device(op, name, t, Device::kCuda);
}
/// Throws unless `t` is a [rows, columns] matrix (row-strided allowed) of one of the production types.
inline void check_matrix(const char* op, const char* name, const Tensor& t, int64_t rows, int64_t columns) {
  checks::check_matrix(op, name, t, rows, columns);
  check_device(op, name, t);
}
/// The same for a matrix of the wide type, f32.
inline void check_wide(const char* op, const char* name, const Tensor& t, int64_t rows, int64_t columns) {
  checks::check_wide(op, name, t, rows, columns);
  check_device(op, name, t);
}
/// Throws unless `t` is a dense vector of `size` elements of `dtype`.
inline void check_vector(const char* op, const char* name, const Tensor& t, int64_t size,
                         DType dtype = DType::kF32) {
  checks::check_vector(op, name, t, size, dtype);
  check_device(op, name, t);
}

}  // namespace zoetrope::cuda
