// A graph of tensors and operations in cuDNN's sense, written down node by node.
#pragma once

#include <array>
#include <deque>

#include "model/ops/cuda/cudnn_descriptor.h"

namespace zoetrope::cudnn {

using Extents = std::array<int64_t, 4>;

/// A tensor of the graph: sizes and strides in elements, in the order batch, head, row, column.
struct GraphTensor {
  Extents sizes{}, strides{};
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const Descriptor* descriptor = nullptr;
};
/// Strides of a dense tensor.
Extents dense_strides(const Extents& sizes);
/// The same memory with rows and columns exchanged.
GraphTensor transposed(GraphTensor tensor);

class Graph {
 public:
  /// A tensor in memory that the caller names by `id` when the plan runs. `offsets`, unless null, holds where
  /// each batch entry starts, in elements: the batch stride doesn't count then.
  GraphTensor memory(int64_t id, GraphTensor tensor, const GraphTensor* offsets = nullptr,
                     int64_t alignment = 16);
  /// One f32 that is read from the host when the plan is started.
  GraphTensor host_scalar(int64_t id);
  /// A tensor that stays inside the plan, dense unless strides are given.
  GraphTensor inner(const Extents& sizes, cudnnDataType_t type = CUDNN_DATA_FLOAT,
                    const Extents* strides = nullptr, const GraphTensor* offsets = nullptr);

  /// y = mode(x), mode(x, b), or b where `selector` is false.
  void pointwise(cudnnPointwiseMode_t mode, const GraphTensor& y, const GraphTensor& x,
                 const GraphTensor* b = nullptr, const GraphTensor* selector = nullptr);
  /// mode(x, b) as a new inner f32 tensor of x's sizes.
  GraphTensor combine(cudnnPointwiseMode_t mode, const GraphTensor& x, const GraphTensor& b);
  /// Each element's index along `axis` of a tensor of x's sizes, i32.
  GraphTensor index(const GraphTensor& x, int64_t axis);
  /// y = sum of x over the axes where y has one element.
  void sum(const GraphTensor& y, const GraphTensor& x);
  /// y = x with other sizes and strides.
  void reshape(const GraphTensor& y, const GraphTensor& x);
  /// How many rows and columns of a product and how many terms of its sums count: i32 per batch entry, or
  /// null for all.
  struct Lengths {
    const GraphTensor *rows = nullptr, *columns = nullptr, *terms = nullptr;
  };
  /// c = a b for each batch entry and head.
  void multiply(const GraphTensor& c, const GraphTensor& a, const GraphTensor& b, const Lengths& lengths);
  /// cuDNN's one node of a whole attention forward pass.
  struct Forward {
    GraphTensor q, k, v, out, lse, scale, q_lengths, kv_lengths;
  };
  /// Writes out and lse.
  void attention_forward(const Forward& tensors);

  /// The finalized operation graph, which refers to this object's parts.
  Descriptor finish() const;

 private:
  GraphTensor add_tensor(int64_t id, GraphTensor tensor, const GraphTensor* offsets, int64_t alignment,
                         cudnnBackendAttributeName_t kind, bool has_kind);
  Descriptor& add_operation(cudnnBackendDescriptorType_t type, const char* name);
  Descriptor& pointwise_mode(cudnnPointwiseMode_t mode);

  static constexpr int64_t kFirstInnerId = 1000;
  std::deque<Descriptor> parts_;       ///< tensors and operators, at fixed addresses
  std::deque<Descriptor> operations_;  ///< in the order of the graph
  int64_t next_inner_id_ = kFirstInnerId;
};

}  // namespace zoetrope::cudnn
