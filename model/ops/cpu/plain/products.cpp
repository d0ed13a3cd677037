// Products in plain loops with sums in f32, in place of oneDNN's (../products.cpp) where the CPU backend is
// only there to be compared with: builds with ZT_GPU_ONLY.
#include "model/ops/cpu/products.h"

#include "model/ops/cpu/vector_products.h"

namespace zoetrope {

struct Products::Cache {};

Products::Products() = default;
Products::~Products() = default;

int64_t Products::scratch_bytes(const Product&) const { return 0; }
const char* Products::implementation(const Product&) const { return product_library(); }
void Products::run(const Product& product, void* c, const void* a, const void* b, const void* bias,
                   void*) const {
  cpu::vector_product(product, c, a, b, bias);
}

bool has_native_bf16() { return false; }
const char* product_library() { return "own loops"; }

}  // namespace zoetrope
