#include "model/block.h"

namespace zoetrope {
namespace {

// dx, the gradient of the residual stream, passes through the three parts from last to first; each adds the
// gradient of its branch to it in place. Two [T, D] buffers (narrow1, narrow2) take turns.
class Backward {
 public:
  Backward(const BlockInputs& inputs, const BlockParameters& parameters, const BlockKept& kept,
           const Tensor& dx)
      : in_(inputs), p_(parameters), kept_(kept), dx_(dx), D_(inputs.config.width) {
    Placer placer(&in_.arena, in_.precision);
    scratch_.place_backward(placer, in_.config, in_.precision, in_.sizes);
    in_.ops.add_row(scratch_.modulation, in_.modulation, p_.modulation.value);
    in_.ops.zero(scratch_.dmodulation);
  }

  void mlp() {
    const Tensor& dbranch = scratch_.narrow1;
    in_.ops.gate_residual_backward(dbranch, dvector(5), dx_, kept_.branch2, vector(5), in_.segment);
    const Tensor dy = in_.hooks.width->leave_backward(dbranch);
    linear(scratch_.dhidden, dy, kept_.active, p_.ffn_out);
    in_.ops.activate_backward(scratch_.dhidden, scratch_.dhidden, kept_.hidden, Activation::kGelu);
    linear(scratch_.narrow2, scratch_.dhidden, kept_.normed2, p_.ffn_in);
    modulated_norm(scratch_.narrow2, kept_.x2, kept_.stats2, 3);
  }

  void cross_attention(const Tensor& dtext) {
    if (!in_.same_types()) in_.ops.convert(scratch_.narrow1, dx_);
    const Tensor dy = in_.hooks.width->leave_backward(in_.same_types() ? dx_ : scratch_.narrow1);
    const Tensor& dattended = scratch_.narrow2;
    linear(dattended, dy, kept_.cross_attended, p_.cross_out);
    const Tensor& dq_wide = scratch_.dq_wide;
    const Tensor dk_wide = scratch_.dkv_wide.columns(0, D_), dv_wide = scratch_.dkv_wide.columns(D_, 2 * D_);
    text_attention(dq_wide, dk_wide, dv_wide, dattended);
    const Tensor dq = scratch_.dqkv.columns(0, D_);
    norm(dq, dq_wide, kept_.cross_q_raw, kept_.cross_rstd_q, p_.cross_norm_q, {});
    linear(scratch_.narrow1, dq, kept_.normed3, p_.cross_query);
    const Tensor dnormed = in_.hooks.width->enter_backward(scratch_.narrow1);
    in_.ops.layer_norm_backward(dx_, p_.norm3_weight.grad, p_.norm3_bias.grad, dnormed, kept_.x1,
                                kept_.stats3, p_.norm3_weight.value);
    norm(scratch_.dkv.columns(0, D_), dk_wide, kept_.cross_kv.columns(0, D_), kept_.cross_rstd_k,
         p_.cross_norm_k, {});
    if (!in_.same_types()) in_.ops.convert(scratch_.dkv.columns(D_, 2 * D_), dv_wide);
    linear(scratch_.dtext, scratch_.dkv, in_.text, p_.cross_kv);
    in_.ops.add(dtext, scratch_.dtext);
  }

  void self_attention(int64_t block) {
    in_.ops.gate_residual_backward(scratch_.narrow1, dvector(2), dx_, kept_.branch1, vector(2), in_.segment);
    const Tensor dy = in_.hooks.width->leave_backward(scratch_.narrow1);
    const Tensor& dattended = scratch_.narrow2;
    linear(dattended, dy, kept_.attended, p_.self_out);
    const Tensor &dq_wide = scratch_.dq_wide, &dk_wide = scratch_.dk_wide, &dv_wide = scratch_.dv_wide;
    in_.hooks.attention->backward(dq_wide, dk_wide, dv_wide, dattended, kept_.q, kept_.k,
                                  kept_.qkv.columns(2 * D_, 3 * D_), kept_.attended, kept_.lse, in_.batch,
                                  block, in_.config.num_heads, in_.attention_scale());
    const Tensor& dqkv = scratch_.dqkv;
    norm(dqkv.columns(0, D_), dq_wide, kept_.qkv.columns(0, D_), kept_.rstd_q, p_.norm_q, in_.rotation);
    norm(dqkv.columns(D_, 2 * D_), dk_wide, kept_.qkv.columns(D_, 2 * D_), kept_.rstd_k, p_.norm_k,
         in_.rotation);
    if (!in_.same_types()) in_.ops.convert(dqkv.columns(2 * D_, 3 * D_), dv_wide);
    linear(scratch_.narrow1, dqkv, kept_.normed1, p_.qkv);
    modulated_norm(scratch_.narrow1, kept_.x, kept_.stats1, 0);
  }

  /// The six vectors are the sum of the block's own and the segments'.
  void finish(const Tensor& dmodulation) {
    in_.ops.add_row_backward(p_.modulation.grad, scratch_.dmodulation);
    in_.ops.add(dmodulation, scratch_.dmodulation);
  }

 private:
  Tensor vector(int64_t index) const { return scratch_.modulation.columns(index * D_, (index + 1) * D_); }
  Tensor dvector(int64_t index) const { return scratch_.dmodulation.columns(index * D_, (index + 1) * D_); }

  void linear(const Tensor& dinput, const Tensor& dy, const Tensor& input,
              const LinearParameters& layer) const {
    in_.ops.linear_backward_weight(layer.dweight, layer.dbias, dy, input);
    in_.ops.linear_backward_input(dinput, dy, *layer.weight);
  }
  void norm(const Tensor& dinput, const Tensor& dy, const Tensor& input, const Tensor& rstd,
            const VectorParameter& weight, const Tensor& rotation) const {
    in_.ops.rms_norm_rope_backward(dinput, weight.grad, dy, input, rstd, weight.value, rotation,
                                   in_.config.num_heads);
  }
  /// Norm before a column-parallel product; its shift is vector `first`, its scale the next one.
  void modulated_norm(const Tensor& dnormed, const Tensor& x, const Tensor& stats, int64_t first) const {
    in_.ops.layer_norm_modulate_backward(dx_, dvector(first), dvector(first + 1),
                                         in_.hooks.width->enter_backward(dnormed), x, stats,
                                         vector(first + 1), in_.segment);
  }
  void text_attention(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dattended) const {
    const ArenaScope scope(in_.arena);
    const int64_t num_heads = in_.config.num_heads;
    const Tensor delta = in_.arena.take({dq.rows(), num_heads}, in_.precision.wide);
    in_.ops.attention_delta(delta, dattended, kept_.cross_attended, num_heads);
    for (const Tensor* gradient : {&dq, &dk, &dv}) in_.ops.zero(*gradient);
    in_.ops.attention_backward(dq, dk, dv, dattended, kept_.cross_attended, kept_.cross_q, kept_.cross_k,
                               kept_.cross_kv.columns(D_, 2 * D_), kept_.cross_lse, delta, in_.text_items,
                               num_heads, in_.attention_scale());
  }

  const BlockInputs& in_;
  const BlockParameters& p_;
  const BlockKept& kept_;
  const Tensor& dx_;
  int64_t D_;
  BlockScratch scratch_;
};

}  // namespace

void block_backward(const BlockInputs& inputs, const BlockParameters& parameters, const BlockKept& kept,
                    int64_t block, const Tensor& dx, const Tensor& dmodulation, const Tensor& dtext) {
  const ArenaScope scope(inputs.arena);
  Backward backward(inputs, parameters, kept, dx);
  backward.mlp();
  backward.cross_attention(dtext);
  backward.self_attention(block);
  backward.finish(dmodulation);
}

}  // namespace zoetrope
