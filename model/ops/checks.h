// Shape and type checks at the entry of every op, and the choice of a kernel by element type.
#pragma once

#include "core/check.h"
#include "core/tensor.h"

namespace zoetrope::checks {

/// Throws unless `t` is a [rows, columns] matrix (row-strided allowed) of one of the production types.
inline void check_matrix(const char* op, const char* name, const Tensor& t, int64_t rows, int64_t columns) {
  ZT_CHECK(t.dims() == 2 && t.dim(0) == rows && t.dim(1) == columns, op, ": ", name, " is ", t.shape_text(),
           ", expected [", rows, ", ", columns, "]");
  ZT_CHECK(t.dtype() == DType::kF32 || t.dtype() == DType::kBF16, op, ": ", name, " of type ",
           name_of(t.dtype()), " not implemented");
}
/// The same for a matrix of the wide type, f32.
inline void check_wide(const char* op, const char* name, const Tensor& t, int64_t rows, int64_t columns) {
  check_matrix(op, name, t, rows, columns);
  ZT_CHECK(t.dtype() == DType::kF32, op, ": ", name, " is ", t.shape_text(), ", expected f32");
}
/// Throws unless `t` is a dense vector of `size` elements of `dtype`.
inline void check_vector(const char* op, const char* name, const Tensor& t, int64_t size,
                         DType dtype = DType::kF32) {
  ZT_CHECK(t.defined() && t.size() == size && t.dense() && t.dtype() == dtype, op, ": ", name, " is ",
           t.shape_text(), ", expected ", size, " dense elements of ", name_of(dtype));
}
/// Throws unless `t` is in memory of the device.
inline void check_device(const char* op, const char* name, const Tensor& t, Device device) {
  ZT_CHECK(t.device() == device, op, ": ", name, " ", t.shape_text(), " is on the ", name_of(t.device()),
           ", expected ", name_of(device));
}
inline void check_same_type(const char* op, const char* name, const Tensor& t, const Tensor& like) {
  ZT_CHECK(t.dtype() == like.dtype(), op, ": ", name, " is ", t.shape_text(), ", expected ",
           name_of(like.dtype()));
}

/// Calls f(T{}) with the element type of a checked tensor.
template <class F>
void dispatch(DType dtype, F&& f) {
  if (dtype == DType::kF32) return f(float{});
  ZT_CHECK(dtype == DType::kBF16, "element type ", name_of(dtype), " not implemented");
  f(bf16{});
}

}  // namespace zoetrope::checks
