// Products with a vector in them: one row, one column, or a single term per sum.
#pragma once

#include "model/ops/cpu/products.h"

namespace zoetrope::cpu {

/// Whether the product has one row, one column or sums of one term (or of none).
inline bool is_vector_product(const Product& p) { return p.m <= 1 || p.n <= 1 || p.k <= 1; }

/// Runs such a product in plain loops with sums in f32; oneDNN 3.7 takes the steps of a vector whose elements
/// lie apart for those of a dense one (seen on Debian 13, for one row of a and one column of c).
void vector_product(const Product& product, void* c, const void* a, const void* b, const void* bias);

}  // namespace zoetrope::cpu
