#include "tools/timed_ops.h"

#include <chrono>
#include <type_traits>

namespace zoetrope {
namespace {

std::string product_name(const char* op, const Tensor& x, int64_t n, int64_t k) {
  return join_message(op, " [", x.rows(), ", ", k, "] x [", k, ", ", n, "]");
}
std::string attention_name(const char* op, const Tensor& q, const Tensor& k) {
  return join_message(op, " of ", q.rows(), " on ", k.rows(), " rows");
}

}  // namespace

template <class Work>
auto TimedOps::timed(const std::string& name, const Work& work) const {
  struct Clock {
    OpTime& time;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    ~Clock() {
      ++time.calls;
      time.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  };
  const Clock clock{times_[name]};
  if constexpr (std::is_void_v<decltype(work())>) {
    work();
    if (waits_) ops_->stream().synchronize();
  } else {
    return work();  // the call has waited for what it returns
  }
}

void TimedOps::reserve_prepared(Weight& weight, DType compute) const {
  ops_->reserve_prepared(weight, compute);
}
int64_t TimedOps::prepared_bytes(int64_t n, int64_t k, DType compute) const {
  return ops_->prepared_bytes(n, k, compute);
}
void TimedOps::prepare(const Weight& weight, DType compute) const {
  timed("prepare", [&] { ops_->prepare(weight, compute); });
}

void TimedOps::linear(const Tensor& y, const Tensor& x, const Weight& weight, const Tensor& bias) const {
  timed(product_name("linear", x, weight.value.rows(), weight.value.row_size()),
        [&] { ops_->linear(y, x, weight, bias); });
}
void TimedOps::linear_backward_input(const Tensor& dx, const Tensor& dy, const Weight& weight) const {
  timed(product_name("linear_backward_input", dy, weight.value.row_size(), weight.value.rows()),
        [&] { ops_->linear_backward_input(dx, dy, weight); });
}
void TimedOps::linear_backward_weight(const Tensor& dweight, const Tensor& dbias, const Tensor& dy,
                                      const Tensor& x) const {
  timed(product_name("linear_backward_weight", dweight, x.row_size(), x.rows()),
        [&] { ops_->linear_backward_weight(dweight, dbias, dy, x); });
}

void TimedOps::layer_norm_modulate(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& shift,
                                   const Tensor& scale, const Tensor& segment, double eps) const {
  timed("layer_norm_modulate", [&] { ops_->layer_norm_modulate(y, stats, x, shift, scale, segment, eps); });
}
void TimedOps::layer_norm_modulate_backward(const Tensor& dx, const Tensor& dshift, const Tensor& dscale,
                                            const Tensor& dy, const Tensor& x, const Tensor& stats,
                                            const Tensor& scale, const Tensor& segment) const {
  timed("layer_norm_modulate_backward",
        [&] { ops_->layer_norm_modulate_backward(dx, dshift, dscale, dy, x, stats, scale, segment); });
}
void TimedOps::layer_norm(const Tensor& y, const Tensor& stats, const Tensor& x, const Tensor& weight,
                          const Tensor& bias, double eps) const {
  timed("layer_norm", [&] { ops_->layer_norm(y, stats, x, weight, bias, eps); });
}
void TimedOps::layer_norm_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                                   const Tensor& dy, const Tensor& x, const Tensor& stats,
                                   const Tensor& weight) const {
  timed("layer_norm_backward", [&] { ops_->layer_norm_backward(dx, dweight, dbias, dy, x, stats, weight); });
}
void TimedOps::rms_norm_rope(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                             const Tensor& rotation, int64_t num_heads, double eps) const {
  timed("rms_norm_rope", [&] { ops_->rms_norm_rope(y, rstd, x, weight, rotation, num_heads, eps); });
}
void TimedOps::rms_norm_rope_backward(const Tensor& dx, const Tensor& dweight, const Tensor& dy,
                                      const Tensor& x, const Tensor& rstd, const Tensor& weight,
                                      const Tensor& rotation, int64_t num_heads) const {
  timed("rms_norm_rope_backward",
        [&] { ops_->rms_norm_rope_backward(dx, dweight, dy, x, rstd, weight, rotation, num_heads); });
}

void TimedOps::activate(const Tensor& y, const Tensor& x, Activation activation) const {
  timed("activate", [&] { ops_->activate(y, x, activation); });
}
void TimedOps::activate_backward(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                 Activation activation) const {
  timed("activate_backward", [&] { ops_->activate_backward(dx, dy, x, activation); });
}
void TimedOps::gate_residual(const Tensor& y, const Tensor& x, const Tensor& branch, const Tensor& gate,
                             const Tensor& segment) const {
  timed("gate_residual", [&] { ops_->gate_residual(y, x, branch, gate, segment); });
}
void TimedOps::gate_residual_backward(const Tensor& dbranch, const Tensor& dgate, const Tensor& dy,
                                      const Tensor& branch, const Tensor& gate, const Tensor& segment) const {
  timed("gate_residual_backward",
        [&] { ops_->gate_residual_backward(dbranch, dgate, dy, branch, gate, segment); });
}
void TimedOps::convert(const Tensor& y, const Tensor& x) const {
  timed("convert", [&] { ops_->convert(y, x); });
}
void TimedOps::zero(const Tensor& x) const {
  timed("zero", [&] { ops_->zero(x); });
}
void TimedOps::add(const Tensor& y, const Tensor& x) const {
  timed("add", [&] { ops_->add(y, x); });
}
void TimedOps::add_row(const Tensor& y, const Tensor& x, const Tensor& row) const {
  timed("add_row", [&] { ops_->add_row(y, x, row); });
}
void TimedOps::add_row_backward(const Tensor& drow, const Tensor& dy) const {
  timed("add_row_backward", [&] { ops_->add_row_backward(drow, dy); });
}

void TimedOps::attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k,
                         const Tensor& v, std::span<const AttentionItem> items, int64_t num_heads,
                         double scale, bool accumulate) const {
  timed(attention_name("attention", q, k),
        [&] { ops_->attention(out, lse, q, k, v, items, num_heads, scale, accumulate); });
}
void TimedOps::attention_delta(const Tensor& delta, const Tensor& dout, const Tensor& out,
                               int64_t num_heads) const {
  timed("attention_delta", [&] { ops_->attention_delta(delta, dout, out, num_heads); });
}
void TimedOps::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                  const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                                  const Tensor& lse, const Tensor& delta,
                                  std::span<const AttentionItem> items, int64_t num_heads,
                                  double scale) const {
  timed(attention_name("attention_backward", q, k), [&] {
    ops_->attention_backward(dq, dk, dv, dout, out, q, k, v, lse, delta, items, num_heads, scale);
  });
}

double TimedOps::squared_error(const Tensor& dy, const Tensor& row_loss, const Tensor& y,
                               const Tensor& target, const Tensor& weight, double grad_scale) const {
  return timed("squared_error",
               [&] { return ops_->squared_error(dy, row_loss, y, target, weight, grad_scale); });
}
double TimedOps::sum_squares(const Tensor& x) const {
  return timed("sum_squares", [&] { return ops_->sum_squares(x); });
}
void TimedOps::adamw(const Tensor& value, const Tensor& first, const Tensor& second, const Tensor& ema,
                     const Tensor& grad, const AdamwStep& step) const {
  timed("adamw", [&] { ops_->adamw(value, first, second, ema, grad, step); });
}
void TimedOps::flow_inputs(const Tensor& features, const Tensor& target, const Tensor& tokens,
                           std::span<const FlowRows> rows, int64_t channels, bool velocity_target) const {
  timed("flow_inputs", [&] { ops_->flow_inputs(features, target, tokens, rows, channels, velocity_target); });
}
void TimedOps::flow_velocity(const Tensor& velocity, const Tensor& x, const Tensor& prediction,
                             int64_t channels, double divisor) const {
  timed("flow_velocity", [&] { ops_->flow_velocity(velocity, x, prediction, channels, divisor); });
}
void TimedOps::guided_step(const Tensor& x, const Tensor& conditional, const Tensor& unconditional,
                           double guidance, double step) const {
  timed("guided_step", [&] { ops_->guided_step(x, conditional, unconditional, guidance, step); });
}

}  // namespace zoetrope
