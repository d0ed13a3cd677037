#include <cmath>

#include "tools/gpu/attention_kernels.h"
#include "tools/gpu/lab.h"

namespace zoetrope {
namespace {

AttentionOperands make_operands(const Lab& lab, const KernelSizes& s, int64_t keys_of_sample) {
  const DType narrow = DType::kBF16, wide = DType::kF32;
  const int64_t T = s.tokens, D = s.width, rows = s.sample_tokens(), keys = s.samples * keys_of_sample;
  AttentionOperands o;
  o.out = lab.zeros({T, D}, narrow);
  o.q = lab.random({T, D}, narrow), o.dout = lab.random({T, D}, narrow);
  o.k = lab.random({keys, D}, narrow), o.v = lab.random({keys, D}, narrow);
  o.lse = lab.zeros({T, s.heads}, wide), o.delta = lab.zeros({T, s.heads}, wide);
  o.dq = lab.zeros({T, D}, wide), o.dk = lab.zeros({keys, D}, wide), o.dv = lab.zeros({keys, D}, wide);
  for (int64_t i = 0; i < s.samples; ++i)
    o.items.push_back({i * rows, (i + 1) * rows, i * keys_of_sample, (i + 1) * keys_of_sample});
  o.num_heads = s.heads;
  o.scale = 1 / std::sqrt(double(s.head_width()));
  return o;
}

void measure_kernel(Lab& lab, const KernelSizes& s, const AttentionKernelLine& kernel, int64_t keys,
                    const std::string& shape, bool has_goal) {
  const Ops& ops = lab.ops();
  const std::string name = kernel.name;
  GpuRow forward{"attention",    name + " forward",
                 shape,          attention_forward_work(s, keys),
                 Bound::kMatrix, has_goal ? kernel.forward_goal : 0};
  GpuRow backward{"attention",    name + " backward",
                  shape,          attention_backward_work(s, keys),
                  Bound::kMatrix, has_goal ? kernel.backward_goal : 0};
  const std::string why = kernel.why_not();
  if (!why.empty()) return lab.leave_out(std::move(forward), why);
  lab.measure(std::move(forward), [&] {
    AttentionOperands o = make_operands(lab, s, keys);
    if (kernel.open != nullptr) kernel.open(ops, lab.workspace(), o);
    return [&ops, kernel, o](int64_t) { kernel.forward(ops, o); };
  });
  if (kernel.backward == nullptr) return;
  lab.measure(std::move(backward), [&] {
    AttentionOperands o = make_operands(lab, s, keys);
    if (kernel.open != nullptr) kernel.open(ops, lab.workspace(), o);
    kernel.forward(ops, o);
    ops.attention_delta(o.delta, o.dout, o.out, o.num_heads);
    return [&ops, kernel, o](int64_t) { kernel.backward(ops, o); };
  });
}

}  // namespace

void measure_attention(Lab& lab, const KernelSizes& s) {
  const std::string samples = s.samples == 1 ? "" : std::to_string(s.samples) + " x ";
  for (const AttentionKernelLine& kernel : attention_kernel_lines()) {
    measure_kernel(lab, s, kernel, s.sample_tokens(),
                   samples + shape_text({s.sample_tokens(), s.sample_tokens(), s.width}), true);
    measure_kernel(lab, s, kernel, s.text_rows,
                   samples + shape_text({s.sample_tokens(), s.text_rows, s.width}), false);
  }
}

}  // namespace zoetrope
