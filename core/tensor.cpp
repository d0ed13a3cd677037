#include "core/tensor.h"

#include <cstring>

namespace zoetrope {

void Tensor::set_shape(std::initializer_list<int64_t> shape) {
  ZT_CHECK(shape.size() >= 1 && shape.size() <= size_t(kMaxDims), "tensor of ", shape.size(), " dimensions");
  dims_ = 0;
  for (int64_t extent : shape) {
    ZT_CHECK(extent >= 0, "negative tensor extent ", extent);
    shape_[size_t(dims_++)] = extent;
  }
  row_stride_ = row_size();
}

int64_t Tensor::row_size() const {
  int64_t product = 1;
  for (int axis = 1; axis < dims_; ++axis) product *= shape_[size_t(axis)];
  return dims_ == 0 ? 0 : product;
}

Tensor Tensor::wrap(void* data, std::initializer_list<int64_t> shape, DType dtype, Device device) {
  Tensor tensor;
  tensor.set_shape(shape);
  tensor.dtype_ = dtype;
  tensor.device_ = device;
  tensor.data_ = data;
  return tensor;
}

Tensor Tensor::empty(std::initializer_list<int64_t> shape, DType dtype, Device device) {
  Tensor tensor = wrap(nullptr, shape, dtype, device);
  tensor.storage_ = allocate(size_t(tensor.bytes()), device);
  tensor.data_ = tensor.storage_.get();
  return tensor;
}

Tensor Tensor::zeros(std::initializer_list<int64_t> shape, DType dtype, Device device) {
  Tensor tensor = empty(shape, dtype, device);
  fill_zero(tensor);
  return tensor;
}

Tensor Tensor::slice_rows(int64_t begin, int64_t end) const {
  ZT_CHECK(0 <= begin && begin <= end && end <= rows(), "rows [", begin, ", ", end, ") of ", shape_text());
  Tensor view = *this;
  view.shape_[0] = end - begin;
  view.data_ = static_cast<char*>(data_) + begin * row_stride_ * int64_t(size_of(dtype_));
  return view;
}

Tensor Tensor::columns(int64_t begin, int64_t end) const {
  ZT_CHECK(dims_ == 2 && 0 <= begin && begin <= end && end <= shape_[1], "columns [", begin, ", ", end,
           ") of ", shape_text());
  Tensor view = *this;
  view.shape_[1] = end - begin;
  view.data_ = static_cast<char*>(data_) + begin * int64_t(size_of(dtype_));
  return view;
}

Tensor Tensor::reshape(std::initializer_list<int64_t> shape) const {
  ZT_CHECK(dense(), "reshape of a strided view ", shape_text());
  Tensor view = *this;
  view.set_shape(shape);
  ZT_CHECK(view.size() == size(), "reshape of ", shape_text(), " to ", view.shape_text());
  return view;
}

std::string Tensor::shape_text() const {
  std::string text = "[";
  for (int axis = 0; axis < dims_; ++axis) text += (axis ? ", " : "") + std::to_string(shape_[size_t(axis)]);
  return text + "] " + name_of(dtype_);
}

void copy(const Tensor& to, const Tensor& from) {
  ZT_CHECK(to.dtype() == from.dtype() && to.rows() == from.rows() && to.row_size() == from.row_size(),
           "copy of ", from.shape_text(), " into ", to.shape_text());
  if (to.size() == 0) return;
  const size_t width = size_of(to.dtype());
  if (to.dense() && from.dense()) {
    std::memcpy(to.raw(), from.raw(), size_t(to.bytes()));
    return;
  }
  for (int64_t r = 0; r < to.rows(); ++r)
    std::memcpy(static_cast<char*>(to.raw()) + size_t(r * to.row_stride()) * width,
                static_cast<const char*>(from.raw()) + size_t(r * from.row_stride()) * width,
                size_t(to.row_size()) * width);
}

void fill_zero(const Tensor& tensor) {
  if (tensor.size() == 0) return;
  const size_t width = size_of(tensor.dtype());
  if (tensor.dense()) {
    std::memset(tensor.raw(), 0, size_t(tensor.bytes()));
    return;
  }
  for (int64_t r = 0; r < tensor.rows(); ++r)
    std::memset(static_cast<char*>(tensor.raw()) + size_t(r * tensor.row_stride()) * width, 0,
                size_t(tensor.row_size()) * width);
}

}  // namespace zoetrope
