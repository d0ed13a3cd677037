// One transformer block, forward (block_forward.cpp) and hand-written backward (block_backward.cpp), on
// packed segments: modulated self-attention, cross-attention to the text, modulated MLP. Source: Wan 2.1's
// block; order of the six modulation vectors: shift, scale, gate of attention, then of the MLP.
#pragma once

#include <array>
#include <span>
#include <string>

#include "model/activations.h"
#include "model/parallel_hooks.h"
#include "model/params.h"

namespace zoetrope {

/// A linear layer's product form, values and gradients.
struct LinearParameters {
  const Weight* weight = nullptr;
  Tensor bias, dweight, dbias;
};
/// The layer `name` ("head.head", "blocks.0.self_attn.qkv").
LinearParameters find_linear(const Parameters& parameters, const std::string& name);

/// A vector and its gradient.
struct VectorParameter {
  Tensor value, grad;
};

/// Everything that block `index` reads and the gradients that it adds to.
struct BlockParameters {
  BlockParameters(const Parameters& parameters, int64_t index);
  LinearParameters qkv, self_out, cross_query, cross_kv, cross_out, ffn_in, ffn_out;
  VectorParameter norm_q, norm_k, cross_norm_q, cross_norm_k, norm3_weight, norm3_bias, modulation;
};

/// What one micro-batch gives to all blocks.
struct BlockInputs {
  const ModelConfig& config;
  Precision precision;
  const Ops& ops;
  const ParallelHooks& hooks;
  Arena& arena;
  const MicroBatch& batch;
  BatchSizes sizes;
  std::span<const AttentionItem> text_items;  ///< each segment's rows against its text rows
  Tensor segment, rotation;
  Tensor modulation;  ///< [S, 6 D] wide
  Tensor text;        ///< [S L, D] narrow
  bool same_types() const { return precision.compute == precision.wide; }
  double attention_scale() const;
};

/// The input x of `kept` becomes `kept.output` (which may be x itself when no backward follows). In the
/// recompute phase self-attention's result is taken as it was kept, and there is no output.
void block_forward(const BlockInputs& inputs, const BlockParameters& parameters, BlockKept& kept,
                   int64_t block, Phase phase);

/// dx: gradient of the output in, of the input out. Adds to the parameters' gradients, to dmodulation [S, 6
/// D] and to dtext [S L, D], all wide.
void block_backward(const BlockInputs& inputs, const BlockParameters& parameters, const BlockKept& kept,
                    int64_t block, const Tensor& dx, const Tensor& dmodulation, const Tensor& dtext);

}  // namespace zoetrope
