#include "tools/gpu/napkin.h"

#include "core/check.h"

namespace zoetrope {
namespace {

constexpr double kWide = 4, kNarrow = 2, kIds = 4;  // bytes
constexpr double kPointwiseGoal = 0.85;

double area(const KernelSizes& s) { return double(s.tokens) * double(s.width); }
double ffn_area(const KernelSizes& s) { return double(s.tokens) * double(s.ffn); }
/// Rows of modulation, a segment number and two statistics a token.
double modulation(const KernelSizes& s, double rows) {
  return rows * double(s.samples) * double(s.width) * kWide;
}
double stats(const KernelSizes& s) { return double(s.tokens) * 2 * kWide; }
double ids(const KernelSizes& s) { return double(s.tokens) * kIds; }
double rotation(const KernelSizes& s) { return double(s.tokens) * double(s.head_width()) * kWide; }

Work layer_norm_modulate(const KernelSizes& s) {
  return {6 * area(s) + stats(s) + ids(s) + modulation(s, 2), 9 * area(s)};
}
Work layer_norm_modulate_backward(const KernelSizes& s) {
  return {14 * area(s) + stats(s) + ids(s) + modulation(s, 1 + 2 * 2), 18 * area(s)};
}
Work layer_norm(const KernelSizes& s) {
  return {6 * area(s) + stats(s) + 2 * double(s.width) * kWide, 9 * area(s)};
}
Work layer_norm_backward(const KernelSizes& s) {
  return {14 * area(s) + stats(s) + (1 + 2 * 2) * double(s.width) * kWide, 18 * area(s)};
}
Work rms_norm_rope(const KernelSizes& s) {
  return {4 * area(s) + rotation(s) + double(s.tokens + s.width) * kWide, 7 * area(s)};
}
Work rms_norm_rope_backward(const KernelSizes& s) {
  return {8 * area(s) + rotation(s) + double(s.tokens) * kWide + 3 * double(s.width) * kWide, 13 * area(s)};
}
Work activate(const KernelSizes& s) { return {4 * ffn_area(s), 20 * ffn_area(s)}; }
Work activate_backward(const KernelSizes& s) { return {6 * ffn_area(s), 26 * ffn_area(s)}; }
Work gate_residual(const KernelSizes& s) { return {10 * area(s) + ids(s) + modulation(s, 1), 2 * area(s)}; }
Work gate_residual_backward(const KernelSizes& s) {
  return {8 * area(s) + ids(s) + modulation(s, 1 + 2), 3 * area(s)};
}
Work convert(const KernelSizes& s) { return {6 * area(s), 0}; }
Work add(const KernelSizes& s) { return {12 * area(s), area(s)}; }
Work zero(const KernelSizes& s) { return {4 * area(s), 0}; }
Work column_sums(const KernelSizes& s) { return {2 * ffn_area(s) + 2 * double(s.ffn) * kWide, ffn_area(s)}; }
Work attention_delta(const KernelSizes& s) {
  return {2 * kNarrow * area(s) + double(s.tokens * s.heads) * kWide, 2 * area(s)};
}
Work adamw(const KernelSizes& s) { return {36 * double(s.parameters), 18 * double(s.parameters)}; }
Work sum_squares(const KernelSizes& s) { return {4 * double(s.parameters), 2 * double(s.parameters)}; }
Work rank_sum(const KernelSizes& s) {
  const double slice = double(s.rank_slice());
  return {kWide * double(s.ranks + 1) * slice, double(s.ranks - 1) * slice};
}
Work flow_inputs(const KernelSizes& s) {
  const double elements = double(s.tokens * s.features);
  return {7 * elements, 60 * elements};
}
Work squared_error(const KernelSizes& s) {
  const double elements = double(s.tokens * s.features);
  return {10 * elements + 2 * double(s.tokens) * kWide, 4 * elements};
}

}  // namespace

const std::vector<KernelNapkin>& kernel_napkins() {
  using enum Bound;
  static const std::vector<KernelNapkin> table{
      {"layer_norm_modulate", "norm.cu", "forward", 6, kMemory, kPointwiseGoal, layer_norm_modulate},
      {"layer_norm_modulate backward", "norm.cu", "backward", 14, kMemory, kPointwiseGoal,
       layer_norm_modulate_backward},
      {"layer_norm", "norm.cu", "forward", 6, kMemory, kPointwiseGoal, layer_norm},
      {"layer_norm backward", "norm.cu", "backward", 14, kMemory, kPointwiseGoal, layer_norm_backward},
      {"rms_norm_rope", "rope.cu", "forward", 4, kMemory, kPointwiseGoal, rms_norm_rope},
      {"rms_norm_rope backward", "rope.cu", "backward", 8, kMemory, kPointwiseGoal, rms_norm_rope_backward},
      {"gate_residual", "pointwise.cu", "gate_residual", 10, kMemory, kPointwiseGoal, gate_residual},
      {"gate_residual backward", "pointwise.cu", "gate_residual_backward", 8, kMemory, kPointwiseGoal,
       gate_residual_backward},
      {"gelu", "pointwise.cu", "activate", 4, kMemory, kPointwiseGoal, activate},
      {"gelu backward", "pointwise.cu", "activate_backward", 6, kMemory, kPointwiseGoal, activate_backward},
      {"convert f32 to bf16", "pointwise.cu", "convert f32 to bf16", 6, kMemory, kPointwiseGoal, convert},
      {"add", "pointwise.cu", "add", 12, kMemory, kPointwiseGoal, add},
      {"zero", "", "", 4, kMemory, 0, zero},
      {"column_sums", "pointwise.cu", "column_sums", 2, kMemory, kPointwiseGoal, column_sums},
      {"attention_delta", "attention.cu", "attention_delta", 4, kMemory, kPointwiseGoal, attention_delta},
      {"adamw + ema", "adamw.cu", "adamw_and_ema", 36, kMemory, kPointwiseGoal, adamw},
      {"sum_squares", "loss.cu", "sum_squares", 4, kMemory, kPointwiseGoal, sum_squares},
      {"rank_sum of 8", "", "", 36, kMemory, kPointwiseGoal, rank_sum},
      {"flow_inputs", "flow.cu", "flow_inputs", 7, kNone, 0, flow_inputs},
      {"squared_error", "loss.cu", "squared_error", 10, kNone, 0, squared_error},
  };
  return table;
}

const KernelNapkin& napkin_of(const std::string& kernel) {
  for (const KernelNapkin& each : kernel_napkins())
    if (each.kernel == kernel) return each;
  throw Error("no napkin figures of a kernel '" + kernel + "'");
}

Work product_work(int64_t rows, int64_t columns, int64_t inner) {
  const double m = double(rows), n = double(columns), k = double(inner);
  return {kNarrow * (m * n + m * k + n * k), 2 * m * n * k};
}

Work attention_forward_work(const KernelSizes& s, int64_t keys_of_sample) {
  const double keys = double(s.samples * keys_of_sample), width = double(s.width);
  return {2 * kNarrow * width * (double(s.tokens) + keys) + double(s.tokens * s.heads) * kWide,
          4 * double(s.tokens) * double(keys_of_sample) * width};
}

Work attention_backward_work(const KernelSizes& s, int64_t keys_of_sample) {
  const double keys = double(s.samples * keys_of_sample), width = double(s.width);
  // q, dout and dq +=; k, v and dk, dv +=; log-sum-exp and delta.
  return {width * ((2 * kNarrow + 2 * kWide) * double(s.tokens) + (2 * kNarrow + 4 * kWide) * keys) +
              2 * double(s.tokens * s.heads) * kWide,
          10 * double(s.tokens) * double(keys_of_sample) * width};
}

}  // namespace zoetrope
