// What linear layers must do, whatever the backend: awkward shapes, types and strides against plain loops in
// double, within bounds that follow from the data.
#pragma once

#include "tests/support/ops_under_test.h"

namespace zoetrope::test {

/// y = x W^T + bias and dx = dy W, outputs in the type of the products and in f32.
void check_linear(const OpsUnderTest& backend, DType compute);
/// dweight += dy^T x and dbias += sum of dy.
void check_weight_gradient(const OpsUnderTest& backend, DType compute);
/// Wrong shapes and types, and a weight that was not prepared, are refused before anything runs.
void check_product_refusals(const OpsUnderTest& backend);

}  // namespace zoetrope::test
