// Sizes of the network and how it is trained; read from the tables [model] and [optimisation].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace zoetrope {

/// A Wan-2.1-style DiT of any size. Source: notes in README; defaults are the embedded small model.
struct ModelConfig {
  int64_t width = 128, num_layers = 4, num_heads = 2, ffn = 512;
  int64_t frequency_width = 256, text_width = 128, text_rows = 32;
  int64_t in_channels = 3, out_channels = 3;
  std::vector<int64_t> patch{4, 8, 8};  ///< (t, h, w)
  double epsilon = 1e-6;
  int64_t text_seed = 17;  ///< of the word-hash embedding
  bool recompute = false;

  int64_t head_width() const { return width / num_heads; }
  int64_t patch_volume() const { return patch[0] * patch[1] * patch[2]; }
  int64_t in_features() const { return in_channels * patch_volume(); }
  int64_t out_features() const { return out_channels * patch_volume(); }
  /// Throws: UsageError naming the field on sizes that don't fit each other.
  void validate() const;
  void visit(auto&& field) {
    field("width", width, "model width D");
    field("num-layers", num_layers, "transformer blocks");
    field("num-heads", num_heads, "attention heads; the head width is width / num-heads");
    field("ffn", ffn, "width of the MLP");
    field("frequency-width", frequency_width, "width of the sinusoidal timestep embedding");
    field("text-width", text_width, "width of a text embedding row");
    field("text-rows", text_rows, "text rows per sample, zero-padded");
    field("in-channels", in_channels, "channels per pixel or latent element");
    field("out-channels", out_channels, "channels that the head predicts");
    field("patch", patch, "patch size (t, h, w)");
    field("epsilon", epsilon, "epsilon of the norms");
    field("text-seed", text_seed, "seed of the word-hash text embedding");
    field("recompute", recompute, "recompute each block's activations in backward");
  }
};

/// Type of products and of everything else: see model/ops/ops.h.
struct Precision {
  DType compute = DType::kF32, wide = DType::kF32;
  /// Throws: UsageError unless `name` is f32 or bf16.
  static Precision from_name(const std::string& name);
};

}  // namespace zoetrope
