// Operators that note how long each call took, for `bench step`: what a step spends in which operator, and
// what is left.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "model/ops/ops.h"

namespace zoetrope {

/// Calls and wall seconds of one operator.
struct OpTime {
  int64_t calls = 0;
  double seconds = 0;
};

/// Passes every call on to another backend's operators.
class TimedOps final : public Ops {
 public:
  explicit TimedOps(std::unique_ptr<Ops> ops) : ops_(std::move(ops)) {}
  /// Since the last `reset`, by the operator's name and, for products, their shape.
  const std::map<std::string, OpTime>& times() const { return times_; }
  void reset() { times_.clear(); }
  /// Whether every call ends with a wait for its stream, where operators return before they are done.
  void wait_for_each(bool waits) { waits_ = waits; }

  const char* name() const override { return ops_->name(); }
  Device device() const override { return ops_->device(); }
  const Stream& stream() const override { return ops_->stream(); }

  void reserve_prepared(Weight& weight, DType compute) const override;
  int64_t prepared_bytes(int64_t n, int64_t k, DType compute) const override;
  void prepare(const Weight& weight, DType compute) const override;

  void linear(const Tensor& y, const Tensor& x, const Weight& weight, const Tensor& bias) const override;
  void linear_backward_input(const Tensor& dx, const Tensor& dy, const Weight& weight) const override;
  void linear_backward_weight(const Tensor& dweight, const Tensor& dbias, const Tensor& dy,
                              const Tensor& x) const override;

  void layer_norm_modulate(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& shift,
                           const Tensor& scale, const Tensor& segment, double eps) const override;
  void layer_norm_modulate_backward(const Tensor& dx, const Tensor& dshift, const Tensor& dscale,
                                    const Tensor& dy, const Tensor& x, const Tensor& stats,
                                    const Tensor& scale, const Tensor& segment) const override;
  void layer_norm(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& weight,
                  const Tensor& bias, double eps) const override;
  void layer_norm_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dbias, const Tensor& dy,
                           const Tensor& x, const Tensor& stats, const Tensor& weight) const override;
  void rms_norm_rope(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                     const Tensor& rotation, int64_t num_heads, double eps) const override;
  void rms_norm_rope_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dy, const Tensor& x,
                              const Tensor& rstd, const Tensor& weight, const Tensor& rotation,
                              int64_t num_heads) const override;

  void activate(const Tensor& y, const Tensor& x, Activation activation) const override;
  void activate_backward(const Tensor& dx, const Tensor& dy, const Tensor& x,
                         Activation activation) const override;
  void gate_residual(const Tensor& y, const Tensor& x, const Tensor& branch, const Tensor& gate,
                     const Tensor& segment) const override;
  void gate_residual_backward(const Tensor& dbranch, const Tensor& dgate, const Tensor& dy,
                              const Tensor& branch, const Tensor& gate, const Tensor& segment) const override;
  void convert(const Tensor& y, const Tensor& x) const override;
  void zero(const Tensor& x) const override;
  void add(const Tensor& y, const Tensor& x) const override;
  void add_row(const Tensor& y, const Tensor& x, const Tensor& row) const override;
  void add_row_backward(const Tensor& drow, const Tensor& dy) const override;

  void attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
                 std::span<const AttentionItem> items, int64_t num_heads, double scale,
                 bool accumulate) const override;
  void attention_delta(const Tensor& delta, const Tensor& dout, const Tensor& out,
                       int64_t num_heads) const override;
  void attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                          const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                          const Tensor& lse, const Tensor& delta, std::span<const AttentionItem> items,
                          int64_t num_heads, double scale) const override;
  void set_progress(std::function<void()> progress) const override {
    ops_->set_progress(std::move(progress));
  }

  double squared_error(const Tensor& dy, const Tensor& row_loss, const Tensor& y, const Tensor& target,
                       const Tensor& weight, double grad_scale) const override;
  double sum_squares(const Tensor& x) const override;
  void adamw(const Tensor& value, const Tensor& first, const Tensor& second, const Tensor& ema,
             const Tensor& grad, const AdamwStep& step) const override;
  void flow_inputs(const Tensor& features, const Tensor& target, const Tensor& tokens,
                   std::span<const FlowRows> rows, int64_t channels, bool velocity_target) const override;
  void flow_velocity(const Tensor& velocity, const Tensor& x, const Tensor& prediction, int64_t channels,
                     double divisor) const override;
  void guided_step(const Tensor& x, const Tensor& conditional, const Tensor& unconditional, double guidance,
                   double step) const override;

 private:
  /// Runs `work` and books its time.
  template <class Work>
  auto timed(const std::string& name, const Work& work) const;

  std::unique_ptr<Ops> ops_;
  bool waits_ = false;
  mutable std::map<std::string, OpTime> times_;
};

}  // namespace zoetrope
