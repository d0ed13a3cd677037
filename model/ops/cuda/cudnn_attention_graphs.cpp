#include "model/ops/cuda/cudnn_attention_graphs.h"

namespace zoetrope::cudnn {

AttentionTensors::AttentionTensors(Graph& graph, const AttentionShape& shape) : graph_(graph), shape_(shape) {
  const GraphTensor lengths{{shape.batch, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_INT32};
  q_lengths_ = graph.memory(int64_t(TensorId::kQLengths), lengths, nullptr, 4);
  kv_lengths_ = graph.memory(int64_t(TensorId::kKvLengths), lengths, nullptr, 4);
}

const GraphTensor& AttentionTensors::offsets(TensorId id) {
  for (const auto& [known, tensor] : offsets_)
    if (known == id) return tensor;
  const GraphTensor starts{{shape_.batch + 1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_INT64};
  return offsets_.emplace_back(id, graph_.memory(int64_t(id), starts, nullptr, 8)).second;
}

GraphTensor AttentionTensors::packed_sizes(int64_t rows, int64_t stride) const {
  return {{shape_.batch, shape_.num_heads, rows, shape_.head_width},
          {rows * stride, shape_.head_width, stride, 1},
          CUDNN_DATA_BFLOAT16};
}

GraphTensor AttentionTensors::packed(TensorId id, TensorId offsets_id, int64_t rows, int64_t stride) {
  return graph_.memory(int64_t(id), packed_sizes(rows, stride), &offsets(offsets_id));
}

GraphTensor AttentionTensors::packed_transposed(TensorId id, TensorId offsets_id, int64_t rows,
                                                int64_t stride) {
  return graph_.memory(int64_t(id), transposed(packed_sizes(rows, stride)), &offsets(offsets_id));
}

GraphTensor AttentionTensors::lse() {
  const int64_t h = shape_.num_heads, rows = shape_.q_rows;
  GraphTensor lse{{shape_.batch, h, rows, 1}, {h * rows, rows, 1, 1}};
  if (shape_.lse == LseLayout::kPadded) return graph_.memory(int64_t(TensorId::kLse), lse);
  lse.strides = {rows * h, 1, h, 1};
  return graph_.memory(int64_t(TensorId::kLse), lse, &offsets(TensorId::kLseOffsets));
}

void add_forward(Graph& graph, const AttentionShape& shape) {
  AttentionTensors tensors(graph, shape);
  graph.attention_forward(
      {.q = tensors.packed(TensorId::kQ, TensorId::kQOffsets, shape.q_rows, shape.q_stride),
       .k = tensors.packed(TensorId::kK, TensorId::kKOffsets, shape.kv_rows, shape.k_stride),
       .v = tensors.packed(TensorId::kV, TensorId::kVOffsets, shape.kv_rows, shape.v_stride),
       .out = tensors.packed(TensorId::kOut, TensorId::kOutOffsets, shape.q_rows, shape.out_stride),
       .lse = tensors.lse(),
       .scale = graph.host_scalar(int64_t(TensorId::kScale)),
       .q_lengths = tensors.q_lengths(),
       .kv_lengths = tensors.kv_lengths()});
}

}  // namespace zoetrope::cudnn
