// Sums over rows for the gradients of biases, shared by the products and the pointwise operators.
#pragma once

#include "core/arena.h"
#include "core/tensor.h"

namespace zoetrope::cuda {

/// sums += sum of the rows of x, in an order that depends on the number of rows alone; nothing is awaited.
/// Shapes: sums [N] f32; x [T, N] f32 or bf16, row-strided allowed. Work space: cuda_row_sums_bytes(T, N, 1).
void add_column_sums(Arena& workspace, const Tensor& sums, const Tensor& x, const Stream& stream);

}  // namespace zoetrope::cuda
