// What attention must do on every backend, over the cases of attention_cases.h: one function a property.
#pragma once

#include "tests/support/attention_cases.h"
#include "tests/support/ops_under_test.h"

namespace zoetrope::test {

/// A backward pass in place of the operators', with their arguments.
using AttentionBackward =
    std::function<void(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                       const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& lse,
                       const Tensor& delta, const AttentionProblem& problem)>;

/// A forward pass in place of the operators', with their arguments; for bf16 of a head width that it serves.
using AttentionForward = std::function<void(
    const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
    std::span<const AttentionItem> items, const AttentionProblem& problem, bool accumulate)>;

/// Output and log-sum-exp against softmax in double; rows of no item stay untouched. f32 within style 5.9's
/// bounds; bf16 with at most twice the error of the naive version.
void check_attention_forward(const OpsUnderTest& backend, const std::vector<AttentionCase>& cases,
                             const AttentionForward& forward = {});
/// Forward, delta and backward in a row: gradients added to what is there, against those in double.
void check_attention_backward(const OpsUnderTest& backend, const std::vector<AttentionCase>& cases,
                              const AttentionBackward& backward = {}, DType out_type = DType::kF32);
/// Delta over types, strides and head widths.
void check_attention_delta(const OpsUnderTest& backend);
/// Pieces of the keys merged in several orders, empty ones among them, equal the whole.
void check_attention_merge(const OpsUnderTest& backend, const AttentionForward& forward = {});
/// More items than a launch takes, of zero to three rows each.
void check_attention_of_many_items(const OpsUnderTest& backend);
/// Wrong shapes, types and ranges are refused before anything runs.
void check_attention_refusals(const OpsUnderTest& backend);

}  // namespace zoetrope::test
