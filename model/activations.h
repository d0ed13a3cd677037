// Every tensor that a micro-batch puts on the arena, in one place: what forward and backward use is laid out
// and counted by the same code, so that the memory model can't drift from the network.
//
// Shapes legend: T tokens, S segments, L text rows, D width, F MLP width, H heads, K head width, P features.
// Types legend: narrow = compute type of products, wide = type of residual stream and statistics.
#pragma once

#include "core/arena.h"
#include "model/config.h"

namespace zoetrope {

/// Takes tensors from an arena, or only counts their bytes (without an arena).
class Placer {
 public:
  Placer(Arena* arena, Precision precision) : arena_(arena), precision_(precision) {}
  Tensor narrow(int64_t rows, int64_t columns) { return take(rows, columns, precision_.compute); }
  Tensor wide(int64_t rows, int64_t columns) { return take(rows, columns, precision_.wide); }
  /// Next matrix in the compute type, in the wide type, a wide vector, any type, 32-bit numbers.
  Tensor wide_vector(int64_t size);
  Tensor take(int64_t rows, int64_t columns, DType dtype);
  Tensor ids(int64_t size);
  int64_t bytes() const { return bytes_; }
  int64_t num_tensors() const { return num_tensors_; }

 private:
  Arena* arena_;
  Precision precision_;
  int64_t bytes_ = 0, num_tensors_ = 0;
};

/// Sizes of one micro-batch.
struct BatchSizes {
  int64_t tokens = 0, segments = 0;
};

/// What flow matching adds around the network.
struct FlowBuffers {
  Tensor features;          ///< [T, P] narrow, patch in
  Tensor target;            ///< [T, P] wide, patch out
  Tensor weight, row_loss;  ///< [T] wide
  Tensor text;              ///< [S L, text_width] narrow
  Tensor dprediction;       ///< [T, P] narrow
  /// Takes them in this order.
  void place(Placer& placer, const ModelConfig& config, BatchSizes sizes);
};

/// What lives from the start of forward to the end of backward, outside the blocks.
struct DitBuffers {
  Tensor prediction;                                        ///< [T, P] wide
  Tensor segment, rotation;                                 ///< [T] i32; [T, K] wide
  Tensor frequencies, time_hidden, time_active, time_silu;  ///< [S, frequency_width], [S, D] x 3 wide
  Tensor modulation;  ///< [S, 7 D] wide: six vectors of the blocks, then the time embedding itself
  Tensor text_hidden, text_active, text;            ///< [S L, D] narrow
  Tensor head_stats, head_modulation, head_normed;  ///< [T, 2] wide; [S, 2 D] wide; [T, D] narrow
  Tensor x;                                         ///< [T, D] wide: input of the first block
  Tensor dx, dmodulation, dtext;  ///< [T, D], [S, 7 D], [S L, D] wide; only when backward follows
  /// Takes them in this order.
  void place(Placer& placer, const ModelConfig& config, BatchSizes sizes, bool keep);
};

/// What a block keeps for its backward. With recompute only `place_light` lies there until then.
struct BlockKept {
  Tensor x;              ///< input, owned by the block before
  Tensor attended, lse;  ///< [T, D] narrow, [T, H] wide
  Tensor output;         ///< [T, D] wide, the next block's input
  Tensor stats1, normed1, qkv, q, k, rstd_q, rstd_k, branch1, x1;
  Tensor stats3, normed3, cross_q_raw, cross_q, cross_rstd_q, cross_kv, cross_k, cross_rstd_k, cross_attended,
      cross_lse, x2;
  Tensor stats2, normed2, hidden, active, branch2;
  /// Takes what recompute keeps, then what it makes again.
  void place_light(Placer& placer, const ModelConfig& config, BatchSizes sizes, bool with_output);
  void place_rest(Placer& placer, const ModelConfig& config, BatchSizes sizes);
};

/// Work space of one block; forward uses `modulation` and `narrow1` alone.
struct BlockScratch {
  Tensor modulation;                 ///< [S, 6 D] wide
  Tensor narrow1, narrow2;           ///< [T, D] narrow
  Tensor dmodulation;                ///< [S, 6 D] wide
  Tensor dhidden;                    ///< [T, F] narrow; shares its memory with the next four
  Tensor dqkv;                       ///< [T, 3 D] narrow
  Tensor dq_wide, dk_wide, dv_wide;  ///< [T, D] wide; columns of dqkv when the types are one
  Tensor dkv_wide, dkv;              ///< [S L, 2 D] wide, narrow
  Tensor dtext;                      ///< [S L, D] wide
  /// Takes what forward needs, then what backward needs besides.
  void place_forward(Placer& placer, const ModelConfig& config, BatchSizes sizes);
  void place_backward(Placer& placer, const ModelConfig& config, Precision precision, BatchSizes sizes);
};

}  // namespace zoetrope
