// How the host describes tensors to kernels, and chooses between 16-byte accesses and single elements.
#pragma once

#include <algorithm>
#include <type_traits>

#include "core/tensor.h"
#include "model/ops/cuda/vector.cuh"

namespace zoetrope::cuda {

/// A matrix, or a vector as its only row, with elements of T (const or not).
template <class T>
Rows<T> rows_of(const Tensor& x) {
  return {x.data<std::remove_const_t<T>>(), x.row_stride()};
}
/// Row segment[t] of `x`; the only row of a vector `x` when there is no segment.
inline SegmentRows segment_rows(const Tensor& x, const Tensor& segment = Tensor()) {
  return {x.data<float>(), x.row_stride(), segment.defined() ? segment.data<int32_t>() : nullptr};
}

/// Whether every row of every tensor starts on 16 bytes; undefined ones don't count.
template <class... Tensors>
bool on_vectors(const Tensors&... tensors) {
  const auto aligned = [](const Tensor& x) {
    const bool one_row = x.dims() == 1 || x.rows() <= 1;
    return !x.defined() || (reinterpret_cast<uintptr_t>(x.raw()) % 16 == 0 &&
                            (one_row || x.row_stride() * int64_t(size_of(x.dtype())) % 16 == 0));
  };
  return (aligned(tensors) && ...);
}

/// Calls run.operator()<elements per access>(): kWide where rows lie on 16 bytes, else kNarrow.
template <int kWide, int kNarrow = 1, class Run>
void with_access(bool wide, const Run& run) {
  if (wide) run.template operator()<kWide>();
  else run.template operator()<kNarrow>();
}

/// The device's own handle of a stream.
inline cudaStream_t queue_of(const Stream& stream) { return static_cast<cudaStream_t>(stream.handle()); }

inline constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
/// Threads of a block of which each takes `each` of `count` elements: whole warps, at least one.
inline unsigned threads_for(int64_t count, int64_t each) {
  return unsigned(std::max<int64_t>(1, ceil_div(count, each * 32)) * 32);
}

}  // namespace zoetrope::cuda
