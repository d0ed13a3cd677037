// Attention forward and backward as graphs of cuDNN's.
#pragma once

#include "model/ops/cuda/cudnn_attention.h"
#include "model/ops/cuda/cudnn_graph.h"

namespace zoetrope::cudnn {

/// The tensors of a shape, declared in a graph; forward and backward have these in common.
class AttentionTensors {
 public:
  AttentionTensors(Graph& graph, const AttentionShape& shape);

  /// [batch, H, rows, head_width] bf16, rows of samples anywhere in memory.
  GraphTensor packed(TensorId id, TensorId offsets_id, int64_t rows, int64_t stride);
  /// The same with columns as rows: k and v as the right factor of a product.
  GraphTensor packed_transposed(TensorId id, TensorId offsets_id, int64_t rows, int64_t stride);
  GraphTensor lse();

  const GraphTensor& q_lengths() const { return q_lengths_; }
  const GraphTensor& kv_lengths() const { return kv_lengths_; }
  /// Where the samples' rows start in a tensor; one per id.
  const GraphTensor& offsets(TensorId id);

 private:
  GraphTensor packed_sizes(int64_t rows, int64_t stride) const;

  Graph& graph_;
  const AttentionShape shape_;
  GraphTensor q_lengths_, kv_lengths_;
  std::deque<std::pair<TensorId, GraphTensor>> offsets_;
};

/// out, lse from q, k, v: one node.
void add_forward(Graph& graph, const AttentionShape& shape);
/// dq, dk, dv from dout, out, q, k, v and lse: cuDNN 9.19 has no single node for it. With Bits::kAny dq is
/// first summed in f32 memory, by blocks of keys in no fixed order; otherwise it is written once.
void add_backward(Graph& graph, const AttentionShape& shape, Bits bits);

}  // namespace zoetrope::cudnn
