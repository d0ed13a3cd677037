// One thread's matrix product by oneDNN, with a cache of its primitives. Only products.cpp sees oneDNN;
// builds without it have plain/products.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "core/dtype.h"

namespace zoetrope {

/// c [m, n] = or += a [m, k] b [k, n] (+ bias [n]). Strides in elements; one of a's and one of b's must be 1.
/// a and b are of one type, f32 or bf16; c and bias are f32 or bf16.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_column = 1, b_row = 0, b_column = 1, c_row = 0;
  DType in = DType::kF32, out = DType::kF32, bias = DType::kF32;
  bool has_bias = false, accumulate = false;
  bool operator==(const Product&) const = default;
};

class Products {
 public:
  Products();
  ~Products();

  /// Bytes of scratchpad that one thread needs for a product of these sizes.
  int64_t scratch_bytes(const Product& product) const;
  /// Runs the product on the calling thread alone.
  void run(const Product& product, void* c, const void* a, const void* b, const void* bias,
           void* scratch) const;

  /// Name of oneDNN's implementation, for benchmarks ("brg:avx512_core").
  const char* implementation(const Product& product) const;

 private:
  struct Cache;
  std::unique_ptr<Cache> cache_;
};

/// Whether oneDNN has bf16 products for this processor that beat converting to f32.
bool has_native_bf16();
/// What runs the products, for people: "oneDNN".
const char* product_library();

}  // namespace zoetrope
