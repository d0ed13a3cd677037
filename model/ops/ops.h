// THE operator interface. The model, the optimizer and context-parallel attention are written against it;
// one folder per backend implements it (cpu/, cuda/), and tests implement it in double precision.
//
// Shapes legend: T packed tokens of this rank, S segments (samples' shards) in the micro-batch, D model
// width, H heads, K head width (D = H K), N and M columns of a product, L text rows per sample.
// Types legend: *compute* = the type products run in (f32, bf16, or f64 in the reference); *wide* = the type
// of residual stream, statistics, modulation, parameters and gradients (f32, or f64 in the reference).
// Matrices may be row-strided views unless "dense" is said. Outputs come first. Ops allocate nothing:
// work space comes from the backend's arena. "+=" outputs accumulate. Throws: Error on a mismatch.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/tensor.h"
#include "core/thread_pool.h"
#include "model/ops/flow_ops.h"
#include "model/ops/types.h"

namespace zoetrope {

class Ops : public FlowOps {
 public:
  virtual const char* name() const = 0;
  virtual Device device() const = 0;
  virtual const Stream& stream() const = 0;

  // --- weights -------------------------------------------------------------------------------------
  /// Allocates the prepared forms of a weight for products in `compute` (persistent memory).
  virtual void reserve_prepared(Weight& weight, DType compute) const = 0;
  /// Persistent bytes that `reserve_prepared` takes for an [n, k] weight.
  virtual int64_t prepared_bytes(int64_t n, int64_t k, DType compute) const = 0;
  /// Renews the prepared forms from `value`; called after every change of the parameters.
  virtual void prepare(const Weight& weight, DType compute) const = 0;

  // --- products ------------------------------------------------------------------------------------
  /// y = x W^T + bias. Shapes: y [T, N] compute or wide; x [T, K] compute; bias [N] wide or undefined.
  virtual void linear(const Tensor& y, const Tensor& x, const Weight& weight, const Tensor& bias) const = 0;
  /// dx = dy W. Shapes: dx [T, K] compute or wide; dy [T, N] compute.
  virtual void linear_backward_input(const Tensor& dx, const Tensor& dy, const Weight& weight) const = 0;
  /// dweight += dy^T x, dbias += sum of dy over rows. Shapes: dweight [N, K] wide dense; dbias [N] wide or
  /// undefined; dy [T, N] compute; x [T, K] compute.
  virtual void linear_backward_weight(const Tensor& dweight, const Tensor& dbias, const Tensor& dy,
                                      const Tensor& x) const = 0;

  // --- norms and modulation ------------------------------------------------------------------------
  /// y = LN(x) (1 + scale[s]) + shift[s] with s = segment[t]; LN without affine, biased variance.
  /// Shapes: y [T, D] compute; stats [T, 2] wide (mean, 1/std) out; x [T, D] wide; shift, scale [S, D] wide
  /// (row-strided); segment [T] i32.
  virtual void layer_norm_modulate(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& shift,
                                   const Tensor& scale, const Tensor& segment, double eps) const = 0;
  /// dx += ..., dshift += ..., dscale += ... Shapes: dx [T, D] wide; dshift, dscale [S, D] wide; dy [T, D]
  /// compute. Rows of one segment are contiguous.
  virtual void layer_norm_modulate_backward(const Tensor& dx, const Tensor& dshift, const Tensor& dscale,
                                            const Tensor& dy, const Tensor& x, const Tensor& stats,
                                            const Tensor& scale, const Tensor& segment) const = 0;
  /// y = LN(x) weight + bias. Shapes: y [T, D] compute; stats [T, 2] wide out; x [T, D] wide; weight, bias D.
  virtual void layer_norm(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& weight,
                          const Tensor& bias, double eps) const = 0;
  virtual void layer_norm_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                                   const Tensor& dy, const Tensor& x, const Tensor& stats,
                                   const Tensor& weight) const = 0;
  /// y = RoPE(x / rms(x) * weight): RMS over the whole row, then adjacent pairs of each head rotated by
  /// the row's angles. Shapes: y, x [T, D] compute; rstd [T] wide out; weight [D] wide;
  /// rotation [T, K] wide holding (cos, sin) of the K/2 pairs interleaved, or undefined for none.
  virtual void rms_norm_rope(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                             const Tensor& rotation, int64_t num_heads, double eps) const = 0;
  /// dx = ..., dweight += ... Shapes: dx, x [T, D] compute; dy [T, D] wide; dx may be dy when of one type.
  virtual void rms_norm_rope_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dy,
                                      const Tensor& x, const Tensor& rstd, const Tensor& weight,
                                      const Tensor& rotation, int64_t num_heads) const = 0;

  // --- pointwise -----------------------------------------------------------------------------------
  /// y = activation(x); y and x may be of different types (compute or wide); GELU is the tanh form.
  virtual void activate(const Tensor& y, const Tensor& x, Activation activation) const = 0;
  /// dx = dy * activation'(x); dx may be dy.
  virtual void activate_backward(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                 Activation activation) const = 0;
  /// y = x + gate[s] * branch. Shapes: y, x [T, D] wide (y may be x); branch [T, D] compute; gate [S, D] wide
  /// (row-strided) or undefined for 1; segment [T] i32.
  virtual void gate_residual(const Tensor& y, const Tensor& x, const Tensor& branch, const Tensor& gate,
                             const Tensor& segment) const = 0;
  /// dbranch = gate[s] * dy; dgate[s] += sum of branch * dy. Shapes: dbranch [T, D] compute; dy [T, D] wide.
  virtual void gate_residual_backward(const Tensor& dbranch, const Tensor& dgate, const Tensor& dy,
                                      const Tensor& branch, const Tensor& gate,
                                      const Tensor& segment) const = 0;
  /// y = x with a change of type (any of compute, wide).
  virtual void convert(const Tensor& y, const Tensor& x) const = 0;
  /// All elements 0, any type; the tensor may be row-strided.
  virtual void zero(const Tensor& x) const { fill_zero(x); }
  /// y += x, wide types.
  virtual void add(const Tensor& y, const Tensor& x) const = 0;
  /// y[s] = x[s] + row for all rows; dense or row-strided. Shapes: y, x [S, N] wide; row [N] wide.
  virtual void add_row(const Tensor& y, const Tensor& x, const Tensor& row) const;
  /// drow += sum of the rows of dy. Shapes: drow [N] wide; dy [S, N] wide.
  virtual void add_row_backward(const Tensor& drow, const Tensor& dy) const;

  // --- attention -----------------------------------------------------------------------------------
  /// Softmax attention per item and head, no mask inside an item, no score matrix stored.
  /// Shapes: out [T, D]; lse [T, H] wide, dense; q [T, D], k, v [Tk, D] compute.
  /// accumulate = false: out (compute or wide) and lse of the items' q rows are written.
  /// accumulate = true: out must be wide; (out, lse) already hold the result over other keys and the
  /// items' keys are merged in (Note [CP softmax merge]): lse' = log(e^lse + e^lse_new), out' = weighted sum.
  /// Items of one call have disjoint q ranges; an empty kv range gives out 0, lse -inf (or changes nothing).
  virtual void attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k,
                         const Tensor& v, std::span<const AttentionItem> items, int64_t num_heads,
                         double scale, bool accumulate) const = 0;
  /// delta[t, h] = sum over the head's columns of dout * out: once per row before `attention_backward`.
  /// Shapes: delta [T, H] wide; dout, out [T, D] compute (or wide).
  virtual void attention_delta(const Tensor& delta, const Tensor& dout, const Tensor& out,
                               int64_t num_heads) const = 0;
  /// dq += ..., dk += ..., dv += ... for the items' blocks, from the q rows' out, lse and delta over all
  /// keys. Shapes: as in `attention`; dq, dk, dv wide; out compute or wide; delta [T, H] wide. Items of one
  /// call have disjoint q ranges and disjoint kv ranges. Deterministic.
  virtual void attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                  const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                                  const Tensor& lse, const Tensor& delta,
                                  std::span<const AttentionItem> items, int64_t num_heads,
                                  double scale) const = 0;
  /// Attention calls `progress` between its blocks, from the calling thread alone, so that transfers under
  /// way can advance; an empty function turns it off. Backends whose ops return at once ignore it.
  virtual void set_progress(std::function<void()> progress) const { (void)progress; }

  // --- loss and optimizer --------------------------------------------------------------------------
  /// Returns sum over rows t of weight[t] * sum_c (y - target)^2 as a double summed in a fixed order, and
  /// dy = 2 * weight[t] * (y - target) * grad_scale. Shapes: dy (compute or wide), y, target [T, P] wide;
  /// weight [T] wide. row_loss [T] wide, out: each row's share (to name the sample of a non-finite loss).
  virtual double squared_error(const Tensor& dy, const Tensor& row_loss, const Tensor& y,
                               const Tensor& target, const Tensor& weight, double grad_scale) const = 0;
  /// Sum of squares of all elements, in double, in an order that does not depend on the thread count.
  virtual double sum_squares(const Tensor& x) const = 0;
  /// One AdamW update of flat wide tensors of equal size (decoupled decay); ema may be undefined.
  virtual void adamw(const Tensor& value, const Tensor& first, const Tensor& second, const Tensor& ema,
                     const Tensor& grad, const AdamwStep& step) const = 0;
};

/// The one factory. `pool` and `workspace` outlive the ops.
/// Throws: Error when the device, or what is asked of it, is not built in.
std::unique_ptr<Ops> make_ops(Device device, const ThreadPool& pool, Arena& workspace,
                              const OpsSettings& settings = {});
/// Bytes of work space that `make_ops`'s backend needs at most for these sizes.
int64_t ops_workspace_bytes(Device device, int num_threads, int64_t max_tokens, int64_t width, int64_t ffn,
                            int64_t head_width, DType compute, const OpsSettings& settings = {});
PrecisionSupport precision_support(Device device, DType compute);

}  // namespace zoetrope
