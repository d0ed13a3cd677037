#include <cmath>

#include "model/block.h"

namespace zoetrope {

LinearParameters find_linear(const Parameters& parameters, const std::string& name) {
  return {&parameters.weight(name), parameters.value(name + ".bias"), parameters.grad(name + ".weight"),
          parameters.grad(name + ".bias")};
}

BlockParameters::BlockParameters(const Parameters& parameters, int64_t index) {
  const std::string block = "blocks." + std::to_string(index) + ".";
  const auto linear = [&](const char* name) { return find_linear(parameters, block + name); };
  const auto vector = [&](const char* name) {
    const Tensor value = parameters.value(block + name), grad = parameters.grad(block + name);
    return VectorParameter{value.reshape({value.size()}), grad.reshape({grad.size()})};
  };
  qkv = linear("self_attn.qkv");
  self_out = linear("self_attn.o");
  cross_query = linear("cross_attn.q");
  cross_kv = linear("cross_attn.kv");
  cross_out = linear("cross_attn.o");
  ffn_in = linear("ffn.0");
  ffn_out = linear("ffn.2");
  norm_q = vector("self_attn.norm_q.weight");
  norm_k = vector("self_attn.norm_k.weight");
  cross_norm_q = vector("cross_attn.norm_q.weight");
  cross_norm_k = vector("cross_attn.norm_k.weight");
  norm3_weight = vector("norm3.weight");
  norm3_bias = vector("norm3.bias");
  modulation = vector("modulation");
}

double BlockInputs::attention_scale() const { return 1 / std::sqrt(double(config.head_width())); }

namespace {

class Forward {
 public:
  Forward(const BlockInputs& inputs, const BlockParameters& parameters, BlockKept& kept, int64_t block,
          Phase phase)
      : in_(inputs), p_(parameters), kept_(kept), block_(block), phase_(phase), D_(inputs.config.width) {
    Placer placer(&in_.arena, in_.precision);
    scratch_.place_forward(placer, in_.config, in_.sizes);
    in_.ops.add_row(scratch_.modulation, in_.modulation, p_.modulation.value);
  }

  void self_attention() {
    in_.ops.layer_norm_modulate(kept_.normed1, kept_.stats1, kept_.x, vector(0), vector(1), in_.segment,
                                eps());
    kept_.normed1 = in_.hooks.width->enter(kept_.normed1);
    linear(kept_.qkv, kept_.normed1, p_.qkv);
    norm(kept_.q, kept_.rstd_q, kept_.qkv.columns(0, D_), p_.norm_q, in_.rotation);
    norm(kept_.k, kept_.rstd_k, kept_.qkv.columns(D_, 2 * D_), p_.norm_k, in_.rotation);
    if (phase_ != Phase::kRecompute)
      in_.hooks.attention->forward(kept_.attended, kept_.lse, kept_.q, kept_.k,
                                   kept_.qkv.columns(2 * D_, 3 * D_), in_.batch, block_, in_.config.num_heads,
                                   in_.attention_scale());
    linear(kept_.branch1, kept_.attended, p_.self_out);
    kept_.branch1 = in_.hooks.width->leave(kept_.branch1);
    in_.ops.gate_residual(kept_.x1, kept_.x, kept_.branch1, vector(2), in_.segment);
  }

  void cross_attention() {
    in_.ops.layer_norm(kept_.normed3, kept_.stats3, kept_.x1, p_.norm3_weight.value, p_.norm3_bias.value,
                       eps());
    kept_.normed3 = in_.hooks.width->enter(kept_.normed3);
    linear(kept_.cross_q_raw, kept_.normed3, p_.cross_query);
    norm(kept_.cross_q, kept_.cross_rstd_q, kept_.cross_q_raw, p_.cross_norm_q, {});
    linear(kept_.cross_kv, in_.text, p_.cross_kv);
    norm(kept_.cross_k, kept_.cross_rstd_k, kept_.cross_kv.columns(0, D_), p_.cross_norm_k, {});
    in_.ops.attention(kept_.cross_attended, kept_.cross_lse, kept_.cross_q, kept_.cross_k,
                      kept_.cross_kv.columns(D_, 2 * D_), in_.text_items, in_.config.num_heads,
                      in_.attention_scale(), false);
    linear(scratch_.narrow1, kept_.cross_attended, p_.cross_out);
    in_.ops.gate_residual(kept_.x2, kept_.x1, in_.hooks.width->leave(scratch_.narrow1), {}, in_.segment);
  }

  void mlp() {
    in_.ops.layer_norm_modulate(kept_.normed2, kept_.stats2, kept_.x2, vector(3), vector(4), in_.segment,
                                eps());
    kept_.normed2 = in_.hooks.width->enter(kept_.normed2);
    linear(kept_.hidden, kept_.normed2, p_.ffn_in);
    in_.ops.activate(kept_.active, kept_.hidden, Activation::kGelu);
    linear(kept_.branch2, kept_.active, p_.ffn_out);
    kept_.branch2 = in_.hooks.width->leave(kept_.branch2);
    if (phase_ != Phase::kRecompute)
      in_.ops.gate_residual(kept_.output, kept_.x2, kept_.branch2, vector(5), in_.segment);
  }

 private:
  double eps() const { return in_.config.epsilon; }
  /// One of the six modulation vectors, [S, D].
  Tensor vector(int64_t index) const { return scratch_.modulation.columns(index * D_, (index + 1) * D_); }
  void linear(const Tensor& y, const Tensor& x, const LinearParameters& layer) const {
    in_.ops.linear(y, x, *layer.weight, layer.bias);
  }
  void norm(const Tensor& y, const Tensor& rstd, const Tensor& x, const VectorParameter& weight,
            const Tensor& rotation) const {
    in_.ops.rms_norm_rope(y, rstd, x, weight.value, rotation, in_.config.num_heads, eps());
  }

  const BlockInputs& in_;
  const BlockParameters& p_;
  BlockKept& kept_;
  int64_t block_;
  Phase phase_;
  int64_t D_;
  BlockScratch scratch_;
};

}  // namespace

void block_forward(const BlockInputs& inputs, const BlockParameters& parameters, BlockKept& kept,
                   int64_t block, Phase phase) {
  const ArenaScope scope(inputs.arena);
  Forward forward(inputs, parameters, kept, block, phase);
  forward.self_attention();
  forward.cross_attention();
  forward.mlp();
}

}  // namespace zoetrope
