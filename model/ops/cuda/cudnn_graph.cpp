#include "model/ops/cuda/cudnn_graph.h"

#include <utility>

namespace zoetrope::cudnn {

Extents dense_strides(const Extents& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

GraphTensor transposed(GraphTensor tensor) {
  std::swap(tensor.sizes[2], tensor.sizes[3]);
  std::swap(tensor.strides[2], tensor.strides[3]);
  return tensor;
}

GraphTensor Graph::add_tensor(int64_t id, GraphTensor tensor, const GraphTensor* offsets, int64_t alignment,
                              cudnnBackendAttributeName_t kind, bool has_kind) {
  Descriptor& part = parts_.emplace_back(CUDNN_BACKEND_TENSOR_DESCRIPTOR, "tensor");
  part.set_one(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  part.set_one(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, tensor.type);
  part.set_integers(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.sizes);
  part.set_integers(CUDNN_ATTR_TENSOR_STRIDES, tensor.strides);
  part.set_one(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
  if (has_kind) part.set_bool(kind, true);
  if (offsets) part.set_descriptor(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, *offsets->descriptor);
  part.finalize();
  tensor.descriptor = &part;
  return tensor;
}

GraphTensor Graph::memory(int64_t id, GraphTensor tensor, const GraphTensor* offsets, int64_t alignment) {
  return add_tensor(id, tensor, offsets, alignment, CUDNN_ATTR_TENSOR_IS_VIRTUAL, false);
}

GraphTensor Graph::host_scalar(int64_t id) {
  const GraphTensor scalar{{1, 1, 1, 1}, {1, 1, 1, 1}};
  return add_tensor(id, scalar, nullptr, 4, CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
}

GraphTensor Graph::inner(const Extents& sizes, cudnnDataType_t type, const Extents* strides,
                         const GraphTensor* offsets) {
  const GraphTensor tensor{sizes, strides ? *strides : dense_strides(sizes), type};
  return add_tensor(next_inner_id_++, tensor, offsets, 16, CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
}

Descriptor& Graph::add_operation(cudnnBackendDescriptorType_t type, const char* name) {
  return operations_.emplace_back(type, name);
}

Descriptor& Graph::pointwise_mode(cudnnPointwiseMode_t mode) {
  Descriptor& part = parts_.emplace_back(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "pointwise operator");
  part.set_one(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  part.set_one(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  return part;
}

void Graph::pointwise(cudnnPointwiseMode_t mode, const GraphTensor& y, const GraphTensor& x,
                      const GraphTensor* b, const GraphTensor* selector) {
  Descriptor& part = pointwise_mode(mode);
  part.finalize();
  Descriptor& node = add_operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "pointwise operation");
  node.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, part);
  node.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.descriptor);
  if (b) node.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b->descriptor);
  if (selector) node.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *selector->descriptor);
  node.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *y.descriptor);
  node.finalize();
}

GraphTensor Graph::combine(cudnnPointwiseMode_t mode, const GraphTensor& x, const GraphTensor& b) {
  const GraphTensor y = inner(x.sizes);
  pointwise(mode, y, x, &b);
  return y;
}

GraphTensor Graph::index(const GraphTensor& x, int64_t axis) {
  const GraphTensor y = inner(x.sizes, CUDNN_DATA_INT32);
  Descriptor& part = pointwise_mode(CUDNN_POINTWISE_GEN_INDEX);
  part.set_one(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
  part.finalize();
  Descriptor& node = add_operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "index operation");
  node.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, part);
  node.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.descriptor);
  node.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *y.descriptor);
  node.finalize();
  return y;
}

void Graph::sum(const GraphTensor& y, const GraphTensor& x) {
  Descriptor& part = parts_.emplace_back(CUDNN_BACKEND_REDUCTION_DESCRIPTOR, "reduction operator");
  part.set_one(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, CUDNN_REDUCE_TENSOR_ADD);
  part.set_one(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  part.finalize();
  Descriptor& node = add_operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, "reduction operation");
  node.set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_DESC, part);
  node.set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *x.descriptor);
  node.set_descriptor(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *y.descriptor);
  node.finalize();
}

void Graph::reshape(const GraphTensor& y, const GraphTensor& x) {
  Descriptor& node = add_operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, "reshape operation");
  node.set_descriptor(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *x.descriptor);
  node.set_descriptor(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *y.descriptor);
  node.finalize();
}

void Graph::multiply(const GraphTensor& c, const GraphTensor& a, const GraphTensor& b,
                     const Lengths& lengths) {
  Descriptor& part = parts_.emplace_back(CUDNN_BACKEND_MATMUL_DESCRIPTOR, "product operator");
  part.set_one(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  part.finalize();
  Descriptor& node = add_operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, "product operation");
  node.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_DESC, part);
  node.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a.descriptor);
  node.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b.descriptor);
  node.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *c.descriptor);
  if (lengths.rows)
    node.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, *lengths.rows->descriptor);
  if (lengths.columns)
    node.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, *lengths.columns->descriptor);
  if (lengths.terms)
    node.set_descriptor(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, *lengths.terms->descriptor);
  node.finalize();
}

void Graph::attention_forward(const Forward& tensors) {
  Descriptor& node = add_operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, "attention operation");
  node.set_descriptor(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, *tensors.q.descriptor);
  node.set_descriptor(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, *tensors.k.descriptor);
  node.set_descriptor(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, *tensors.v.descriptor);
  node.set_descriptor(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, *tensors.out.descriptor);
  node.set_descriptor(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, *tensors.lse.descriptor);
  node.set_descriptor(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, *tensors.scale.descriptor);
  node.set_descriptor(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC, *tensors.q_lengths.descriptor);
  node.set_descriptor(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC, *tensors.kv_lengths.descriptor);
  node.finalize();
}

Descriptor Graph::finish() const {
  std::vector<void*> handles;
  for (const Descriptor& each : operations_) handles.push_back(each.handle());
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "operation graph");
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, int64_t(handles.size()),
            handles.data());
  graph.finalize();
  return graph;
}

}  // namespace zoetrope::cudnn
