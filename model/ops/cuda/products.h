// Matrix products by cuBLASLt in row-major terms; the only place, with products.cu, that knows cuBLASLt.
#pragma once

#include <memory>

#include "core/arena.h"

namespace zoetrope {

/// One operand as stored: `transposed` when the product reads its columns as rows.
struct Operand {
  Tensor matrix;
  bool transposed = false;
};

/// Products on one device. Algorithms are the library's first choice, asked for once per shape.
class CudaProducts {
 public:
  CudaProducts();
  ~CudaProducts();

  /// y = a b + bias, or y += a b when `accumulate`. f32 operands multiply in full f32, bf16 ones with f32
  /// sums. Takes kCudaProductBytes from the arena. Shapes: y [M, N]; a [M, K] and b [K, N] once transposed;
  /// bias [N] of y's type, or undefined.
  void run(const Tensor& y, const Operand& a, const Operand& b, const Tensor& bias, bool accumulate,
           Arena& workspace, const Stream& stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zoetrope
