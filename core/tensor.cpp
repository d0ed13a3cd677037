#include "core/tensor.h"

#include <cstring>

#include "core/device_backend.h"

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

Tensor Tensor::like(const Tensor& tensor, Device device) {
  Tensor twin = tensor;
  twin.device_ = device;
  twin.row_stride_ = twin.row_size();
  twin.storage_ = allocate(size_t(twin.bytes()), device);
  twin.data_ = twin.storage_.get();
  return twin;
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

namespace {

RowBlock block_of(const Tensor& tensor) {
  const size_t width = size_of(tensor.dtype());
  if (tensor.dense()) return {tensor.raw(), size_t(tensor.bytes()), size_t(tensor.bytes()), 1};
  return {tensor.raw(), size_t(tensor.row_stride()) * width, size_t(tensor.row_size()) * width,
          size_t(tensor.rows())};
}

/// Two dense tensors are one long row each; otherwise both go row by row.
void match(RowBlock& block, const RowBlock& other) {
  if (block.rows == other.rows) return;
  block.rows = other.rows;
  block.row_bytes = block.stride_bytes = other.row_bytes;
}

}  // namespace

void copy(const Tensor& to, const Tensor& from) {
  copy(to, from, Stream(to.device() == Device::kCpu ? from.device() : to.device()));
}

void copy(const Tensor& to, const Tensor& from, const Stream& stream) {
  ZT_CHECK(to.dtype() == from.dtype() && to.rows() == from.rows() && to.row_size() == from.row_size(),
           "copy of ", from.shape_text(), " into ", to.shape_text());
  if (to.size() == 0) return;
  RowBlock target = block_of(to), source = block_of(from);
  if (target.rows < source.rows) match(target, source);
  else match(source, target);
  if (to.device() == Device::kCpu && from.device() == Device::kCpu) {
    for (size_t r = 0; r < target.rows; ++r)
      std::memcpy(static_cast<char*>(target.data) + r * target.stride_bytes,
                  static_cast<const char*>(source.data) + r * source.stride_bytes, target.row_bytes);
    return;
  }
  const DeviceBackend& backend = device_backend(stream.device());
  if (from.device() == Device::kCpu) return backend.copy_from_host(target, source, stream.handle());
  if (to.device() == Device::kCpu) return backend.copy_to_host(target, source, stream.handle());
  backend.copy_on_device(target, source, stream.handle());
}

void fill_zero(const Tensor& tensor) { fill_zero(tensor, Stream(tensor.device())); }

void fill_zero(const Tensor& tensor, const Stream& stream) {
  if (tensor.size() == 0) return;
  const RowBlock block = block_of(tensor);
  if (tensor.device() != Device::kCpu)
    return device_backend(tensor.device()).fill_zero(block, stream.handle());
  for (size_t r = 0; r < block.rows; ++r)
    std::memset(static_cast<char*>(block.data) + r * block.stride_bytes, 0, block.row_bytes);
}

Tensor host_twin(const Tensor& tensor) {
  return tensor.device() == Device::kCpu || !tensor.defined() ? tensor : Tensor::like(tensor, Device::kCpu);
}

Tensor to_host(const Tensor& tensor) { return to_device(tensor, Device::kCpu); }

void from_host(const Tensor& tensor, const Tensor& host) {
  if (host.raw() != tensor.raw()) copy(tensor, host);
}

Tensor to_device(const Tensor& tensor, Device device) {
  if (tensor.device() == device || !tensor.defined()) return tensor;
  Tensor moved = Tensor::like(tensor, device);
  copy(moved, tensor);
  return moved;
}

}  // namespace zoetrope
