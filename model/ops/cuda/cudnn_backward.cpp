// Attention backward as cuDNN 9.19 takes it: products, masks and pointwise steps that its engines recognise
// as one fused kernel. delta, and dq summed in f32, are memory of the caller's: were the latter an inner
// tensor, the engines of Hopper and later would not be offered. Nor are they when delta is given instead of
// out.
#include "model/ops/cuda/cudnn_attention_graphs.h"

namespace zoetrope::cudnn {
namespace {

/// The pieces that several steps of the backward pass use.
struct Backward {
  Graph& graph;
  const AttentionShape& shape;
  AttentionTensors tensors;
  GraphTensor scale;

  Backward(Graph& g, const AttentionShape& s)
      : graph(g), shape(s), tensors(g, s), scale(g.host_scalar(int64_t(TensorId::kScale))) {}

  /// Rows and columns that a sample doesn't have become minus infinity, whatever their log-sum-exp is.
  GraphTensor masked(const GraphTensor& scores) {
    const GraphTensor row = graph.index(scores, 2), column = graph.index(scores, 3);
    const GraphTensor row_counts = graph.inner(scores.sizes, CUDNN_DATA_BOOLEAN);
    graph.pointwise(CUDNN_POINTWISE_CMP_LT, row_counts, row, &tensors.q_lengths());
    const GraphTensor column_counts = graph.inner(scores.sizes, CUDNN_DATA_BOOLEAN);
    graph.pointwise(CUDNN_POINTWISE_CMP_LT, column_counts, column, &tensors.kv_lengths());
    const GraphTensor both = graph.inner(scores.sizes, CUDNN_DATA_BOOLEAN);
    graph.pointwise(CUDNN_POINTWISE_LOGICAL_AND, both, row_counts, &column_counts);
    const GraphTensor minus_infinity = graph.host_scalar(int64_t(TensorId::kMinusInfinity));
    const GraphTensor out = graph.inner(scores.sizes);
    graph.pointwise(CUDNN_POINTWISE_BINARY_SELECT, out, scores, &minus_infinity, &both);
    return out;
  }

  /// x with rows and columns exchanged, as bf16.
  GraphTensor flipped(const GraphTensor& x) {
    const GraphTensor shape_of_y = transposed(x);
    const GraphTensor y = graph.inner(shape_of_y.sizes, CUDNN_DATA_BFLOAT16, &shape_of_y.strides);
    graph.reshape(y, x);
    return y;
  }

  /// delta = sum over columns of dout * out.
  GraphTensor delta(const GraphTensor& dout) {
    const GraphTensor out =
        tensors.packed(TensorId::kOut, TensorId::kOutOffsets, shape.q_rows, shape.out_stride);
    const Extents sizes = {shape.batch, shape.num_heads, shape.q_rows, 1};
    const GraphTensor sum = graph.inner(sizes);
    graph.sum(sum, graph.combine(CUDNN_POINTWISE_MUL, dout, out));
    const GraphTensor delta = graph.memory(int64_t(TensorId::kDelta), {sizes, dense_strides(sizes)});
    const GraphTensor one = graph.host_scalar(int64_t(TensorId::kOne));
    graph.pointwise(CUDNN_POINTWISE_MUL, delta, sum, &one);
    return delta;
  }
};

}  // namespace

void add_backward(Graph& graph, const AttentionShape& shape, Bits bits) {
  Backward b(graph, shape);
  AttentionTensors& t = b.tensors;
  const int64_t rows = shape.q_rows, keys = shape.kv_rows, width = shape.num_heads * shape.head_width;
  const GraphTensor q = t.packed(TensorId::kQ, TensorId::kQOffsets, rows, shape.q_stride);
  const GraphTensor k = t.packed_transposed(TensorId::kK, TensorId::kKOffsets, keys, shape.k_stride);
  const GraphTensor v = t.packed_transposed(TensorId::kV, TensorId::kVOffsets, keys, shape.v_stride);
  const GraphTensor dout = t.packed(TensorId::kDout, TensorId::kDoutOffsets, rows, shape.dout_stride);
  const GraphTensor delta = b.delta(dout);

  // Probabilities again, from the log-sum-exps.
  const Extents score_sizes = {shape.batch, shape.num_heads, rows, keys};
  const GraphTensor raw = graph.inner(score_sizes);
  graph.multiply(raw, q, k, {.rows = &t.q_lengths(), .columns = &t.kv_lengths()});
  const GraphTensor scores = graph.combine(CUDNN_POINTWISE_MUL, raw, b.scale);
  const GraphTensor p = graph.inner(score_sizes);
  graph.pointwise(CUDNN_POINTWISE_EXP, p, b.masked(graph.combine(CUDNN_POINTWISE_SUB, scores, t.lse())));

  const GraphTensor dv = t.packed(TensorId::kDv, TensorId::kDkvOffsets, keys, width);
  graph.multiply(dv, b.flipped(p), dout, {.rows = &t.kv_lengths(), .terms = &t.q_lengths()});

  const GraphTensor dp = graph.inner(score_sizes);
  graph.multiply(dp, dout, v, {.rows = &t.q_lengths(), .columns = &t.kv_lengths()});
  const GraphTensor centred = graph.combine(CUDNN_POINTWISE_SUB, dp, delta);
  const GraphTensor weighted = graph.combine(CUDNN_POINTWISE_MUL, centred, p);
  const GraphTensor ds = graph.inner(score_sizes, CUDNN_DATA_BFLOAT16);
  graph.pointwise(CUDNN_POINTWISE_MUL, ds, weighted, &b.scale);

  const GraphTensor dk = t.packed(TensorId::kDk, TensorId::kDkvOffsets, keys, width);
  graph.multiply(dk, b.flipped(ds), q, {.rows = &t.kv_lengths(), .terms = &t.q_lengths()});

  const GraphTensor k_rows_view = transposed(k);
  const GraphTensor k_rows = graph.inner(k_rows_view.sizes, CUDNN_DATA_BFLOAT16, &k_rows_view.strides,
                                         &t.offsets(TensorId::kKOffsets));
  graph.reshape(k_rows, k);
  const GraphTensor dq = t.packed(TensorId::kDq, TensorId::kDqOffsets, rows, width);
  const Graph::Lengths dq_lengths = {.rows = &t.q_lengths(), .terms = &t.kv_lengths()};
  if (bits == Bits::kReproducible) return graph.multiply(dq, ds, k_rows, dq_lengths);
  const Extents dq_sizes = {shape.batch, shape.num_heads, rows, shape.head_width};
  const GraphTensor dq_sum = graph.memory(int64_t(TensorId::kDqSum), {dq_sizes, dense_strides(dq_sizes)});
  graph.multiply(dq_sum, ds, k_rows, dq_lengths);
  graph.pointwise(CUDNN_POINTWISE_IDENTITY, dq, dq_sum);
}

}  // namespace zoetrope::cudnn
