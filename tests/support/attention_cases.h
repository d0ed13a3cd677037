// Attention's cases, their answers in double and what may be wrong with a backend's: one table for all
// backends.
#pragma once

#include <string>
#include <vector>

#include "core/tensor.h"
#include "model/ops/types.h"

namespace zoetrope::test {

struct AttentionCase {
  int64_t heads, head_width;
  std::vector<AttentionItem> items;
  DType compute = DType::kF32;
  double size = 1;       ///< of q and k: large ones make the softmax nearly one-hot
  bool aligned = false;  ///< rows of the operands on 16 bytes; otherwise on odd strides
  double opposite = 0;   ///< added to q, taken from k: scores far below 0, where e^-lse overflows
};

/// Around tiles and warps, several items of very different lengths, empty ranges, sharp softmax, both types.
std::vector<AttentionCase> attention_cases();
/// For failures: "2 heads of 64 f32 size 1 [0,33)x[0,33)".
std::string name_of_case(const AttentionCase& c);

/// Inputs and the answer of a case in double, with the sums that bounds are made of.
struct AttentionProblem {
  explicit AttentionProblem(const AttentionCase& given);

  AttentionCase c;
  int64_t H, K, D, T = 0, Tk = 0;  ///< T and Tk count one row that belongs to no item; such k and v are NaN
  double scale;
  Tensor q, k, v, dout;
  std::vector<double> in_q, in_k, in_v, in_dout;  ///< the same inputs, dense
  std::vector<const AttentionItem*> item_of_query;

  /// Answers, indexed [row * D + column] or [row * H + head].
  std::vector<double> out, lse, delta, dq, dk, dv;
  /// Bounds: per (row, head) the largest scale * sum |q k|; magnitude sums for the gradients.
  std::vector<double> reach, dq_mass, dk_mass, dv_mass;
  double largest_reach = 0, largest_v = 0;

  /// f32: style 5.9's bounds. bf16: probabilities are rounded to bf16 before they meet the values.
  double out_bound(int64_t t, int64_t column) const;
  double lse_bound(int64_t t, int64_t head) const;
  /// Gradients, mass being the element's in dq_mass and so on, over `count` rows: each term p (dp - delta)
  /// errs by the error of p (reach), of dp and of the long sum.
  double gradient_bound(double mass, int64_t count) const;

 private:
  /// Sum of the products of two rows in a head, and of their magnitudes.
  struct Product {
    double value = 0, mass = 0;
  };
  Product product(const std::vector<double>& a, int64_t t, const std::vector<double>& b, int64_t s,
                  int64_t head) const;
  void solve_row(int64_t t, int64_t head, const AttentionItem& item);
};

/// Largest errors of attention with every intermediate result rounded to bf16, and the largest magnitudes.
struct NaiveErrors {
  double out = 0, dq = 0, dk = 0, dv = 0;
  double largest_out = 0, largest_dq = 0, largest_dk = 0, largest_dv = 0;
};
/// Source: the yardstick of FlashAttention's tests, arXiv:2205.14135: at most twice the error of the plain
/// version.
NaiveErrors naive_bf16_errors(const AttentionProblem& p);

}  // namespace zoetrope::test
