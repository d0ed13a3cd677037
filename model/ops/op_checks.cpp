#include "model/ops/op_checks.h"

#include "model/ops/attention_checks.h"

namespace zoetrope::checks {
namespace {

/// The operands of one operator, in memory of one device.
class Operands {
 public:
  Operands(const char* op, Device device) : op_(op), device_(device) {}
  void matrix(const char* name, const Tensor& t, int64_t rows, int64_t columns) const {
    check_matrix(op_, name, t, rows, columns);
    check_device(op_, name, t, device_);
  }
  void wide(const char* name, const Tensor& t, int64_t rows, int64_t columns) const {
    check_wide(op_, name, t, rows, columns);
    check_device(op_, name, t, device_);
  }
  void vector(const char* name, const Tensor& t, int64_t size, DType dtype = DType::kF32) const {
    check_vector(op_, name, t, size, dtype);
    check_device(op_, name, t, device_);
  }
  void same_type(const char* name, const Tensor& t, const Tensor& like) const {
    check_same_type(op_, name, t, like);
  }
  void gate(const Tensor& gate, const Tensor& segment, int64_t T, int64_t D) const {
    if (!gate.defined()) return;
    wide("gate", gate, gate.rows(), D);
    vector("segment", segment, T, DType::kI32);
  }
  void rotation(const Tensor& rotation, int64_t T, int64_t D, int64_t num_heads) const {
    check_heads(op_, D, num_heads);
    if (!rotation.defined()) return;
    const int64_t K = D / num_heads;
    ZT_CHECK(K % 2 == 0, op_, ": the rotation needs an even head width, got ", K);
    wide("rotation", rotation, T, K);
  }
  void channels(int64_t P, int64_t channels) const {
    ZT_CHECK(channels >= 1 && P % channels == 0, op_, ": ", P, " features don't split into ", channels,
             " channels");
  }
  void rows(std::span<const FlowRows> rows, int64_t T) const {
    int64_t covered = 0;
    for (const FlowRows& each : rows) {
      ZT_CHECK(each.row_begin == covered && each.row_end >= covered, op_, ": rows [", each.row_begin, ", ",
               each.row_end, ") follow row ", covered);
      covered = each.row_end;
    }
    ZT_CHECK(covered == T, op_, ": rows cover ", covered, " of ", T);
  }

 private:
  const char* op_;
  Device device_;
};

}  // namespace

void check_layer_norm_modulate(Device device, const Tensor& y, const Tensor& stats, const Tensor& x,
                               const Tensor& shift, const Tensor& scale, const Tensor& segment) {
  const Operands check("layer_norm_modulate", device);
  const int64_t T = x.rows(), D = x.row_size(), S = shift.rows();
  check.wide("x", x, T, D);
  check.matrix("y", y, T, D);
  check.wide("stats", stats, T, 2);
  check.wide("shift", shift, S, D);
  check.wide("scale", scale, S, D);
  check.vector("segment", segment, T, DType::kI32);
}

void check_layer_norm_modulate_backward(Device device, const Tensor& dx, const Tensor& dshift,
                                        const Tensor& dscale, const Tensor& dy, const Tensor& x,
                                        const Tensor& stats, const Tensor& scale, const Tensor& segment) {
  const Operands check("layer_norm_modulate_backward", device);
  const int64_t T = x.rows(), D = x.row_size(), S = scale.rows();
  check.wide("x", x, T, D);
  check.wide("dx", dx, T, D);
  check.matrix("dy", dy, T, D);
  check.wide("stats", stats, T, 2);
  check.wide("scale", scale, S, D);
  check.wide("dshift", dshift, S, D);
  check.wide("dscale", dscale, S, D);
  check.vector("segment", segment, T, DType::kI32);
}

void check_layer_norm(Device device, const Tensor& y, const Tensor& stats, const Tensor& x,
                      const Tensor& weight, const Tensor& bias) {
  const Operands check("layer_norm", device);
  const int64_t T = x.rows(), D = x.row_size();
  check.wide("x", x, T, D);
  check.matrix("y", y, T, D);
  check.wide("stats", stats, T, 2);
  check.vector("weight", weight, D);
  check.vector("bias", bias, D);
}

void check_layer_norm_backward(Device device, const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                               const Tensor& dy, const Tensor& x, const Tensor& stats, const Tensor& weight) {
  const Operands check("layer_norm_backward", device);
  const int64_t T = x.rows(), D = x.row_size();
  check.wide("x", x, T, D);
  check.wide("dx", dx, T, D);
  check.matrix("dy", dy, T, D);
  check.wide("stats", stats, T, 2);
  check.vector("weight", weight, D);
  check.vector("dweight", dweight, D);
  check.vector("dbias", dbias, D);
}

void check_rms_norm_rope(Device device, const Tensor& y, const Tensor& rstd, const Tensor& x,
                         const Tensor& weight, const Tensor& rotation, int64_t num_heads) {
  const Operands check("rms_norm_rope", device);
  const int64_t T = x.rows(), D = x.row_size();
  check.matrix("x", x, T, D);
  check.matrix("y", y, T, D);
  check.same_type("y", y, x);
  check.vector("rstd", rstd, T);
  check.vector("weight", weight, D);
  check.rotation(rotation, T, D, num_heads);
}

void check_rms_norm_rope_backward(Device device, const Tensor& dx, const Tensor& dweight, const Tensor& dy,
                                  const Tensor& x, const Tensor& rstd, const Tensor& weight,
                                  const Tensor& rotation, int64_t num_heads) {
  const Operands check("rms_norm_rope_backward", device);
  const int64_t T = x.rows(), D = x.row_size();
  check.matrix("x", x, T, D);
  check.matrix("dx", dx, T, D);
  check.same_type("dx", dx, x);
  check.wide("dy", dy, T, D);
  check.vector("rstd", rstd, T);
  check.vector("weight", weight, D);
  check.vector("dweight", dweight, D);
  check.rotation(rotation, T, D, num_heads);
}

void check_gate_residual(Device device, const Tensor& y, const Tensor& x, const Tensor& branch,
                         const Tensor& gate, const Tensor& segment) {
  const Operands check("gate_residual", device);
  const int64_t T = x.rows(), D = x.row_size();
  check.wide("x", x, T, D);
  check.wide("y", y, T, D);
  check.matrix("branch", branch, T, D);
  check.gate(gate, segment, T, D);
}

void check_gate_residual_backward(Device device, const Tensor& dbranch, const Tensor& dgate, const Tensor& dy,
                                  const Tensor& branch, const Tensor& gate, const Tensor& segment) {
  const Operands check("gate_residual_backward", device);
  const int64_t T = dy.rows(), D = dy.row_size();
  check.wide("dy", dy, T, D);
  check.matrix("branch", branch, T, D);
  check.matrix("dbranch", dbranch, T, D);
  check.same_type("dbranch", dbranch, branch);
  check.gate(gate, segment, T, D);
  check.wide("dgate", dgate, gate.rows(), D);
}

void check_add_row(Device device, const Tensor& y, const Tensor& x, const Tensor& row) {
  const Operands check("add_row", device);
  const int64_t S = x.rows(), N = x.row_size();
  check.wide("x", x, S, N);
  check.wide("y", y, S, N);
  check.vector("row", row, N);
}

void check_add_row_backward(Device device, const Tensor& drow, const Tensor& dy) {
  const Operands check("add_row_backward", device);
  check.wide("dy", dy, dy.rows(), dy.row_size());
  check.vector("drow", drow, dy.row_size());
}

void check_flow_inputs(Device device, const Tensor& features, const Tensor& target, const Tensor& tokens,
                       std::span<const FlowRows> rows, int64_t channels) {
  const char* op = "flow_inputs";
  const Operands check(op, device);
  const int64_t T = features.rows(), P = features.row_size();
  check.matrix("features", features, T, P);
  check.channels(P, channels);
  if (target.defined()) check.wide("target", target, T, P);
  if (tokens.defined()) {
    ZT_CHECK(tokens.rows() == T && tokens.row_size() == P &&
                 (tokens.dtype() == DType::kU8 || tokens.dtype() == DType::kF32),
             op, ": tokens are ", tokens.shape_text(), ", expected [", T, ", ", P, "] u8 or f32");
    check_device(op, "tokens", tokens, device);
  }
  check.rows(rows, T);
}

void check_flow_velocity(Device device, const Tensor& velocity, const Tensor& x, const Tensor& prediction,
                         int64_t channels) {
  const Operands check("flow_velocity", device);
  const int64_t T = x.rows(), P = x.row_size();
  check.wide("x", x, T, P);
  check.wide("velocity", velocity, T, P);
  check.wide("prediction", prediction, T, P);
  check.channels(P, channels);
}

void check_guided_step(Device device, const Tensor& x, const Tensor& conditional,
                       const Tensor& unconditional) {
  const Operands check("guided_step", device);
  const int64_t T = x.rows(), P = x.row_size();
  check.wide("x", x, T, P);
  check.wide("conditional", conditional, T, P);
  check.wide("unconditional", unconditional, T, P);
}

void check_squared_error(Device device, const Tensor& dy, const Tensor& row_loss, const Tensor& y,
                         const Tensor& target, const Tensor& weight) {
  const Operands check("squared_error", device);
  const int64_t T = y.rows(), P = y.row_size();
  check.wide("y", y, T, P);
  check.wide("target", target, T, P);
  check.matrix("dy", dy, T, P);
  check.vector("weight", weight, T);
  check.vector("row_loss", row_loss, T);
}

void check_sum_squares(Device device, const Tensor& x) {
  const char* op = "sum_squares";
  ZT_CHECK(x.dtype() == DType::kF32 && x.dense(), op, ": x is ", x.shape_text(), ", expected dense f32");
  check_device(op, "x", x, device);
}

void check_adamw(Device device, const Tensor& value, const Tensor& first, const Tensor& second,
                 const Tensor& ema, const Tensor& grad, const AdamwStep& step) {
  const char* op = "adamw";
  const Operands check(op, device);
  const int64_t count = value.size();
  check.vector("value", value, count);
  check.vector("first", first, count);
  check.vector("second", second, count);
  check.vector("grad", grad, count);
  if (ema.defined()) check.vector("ema", ema, count);
  ZT_CHECK(step.step >= 1, op, ": step is ", step.step, ", steps count from 1");
}

}  // namespace zoetrope::checks
