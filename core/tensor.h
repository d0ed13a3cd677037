// A tensor is a handle: shape, element type, device and shared storage. It does no arithmetic. Copies
// share storage, so operators take `const Tensor&` for outputs too (outputs come first).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "core/check.h"
#include "core/device.h"
#include "core/dtype.h"

namespace zoetrope {

/// Row-major tensor of up to five dimensions. Dimension 0 may be strided (`columns` of a matrix); the
/// rest is dense.
class Tensor {
 public:
  static constexpr int kMaxDims = 5;

  Tensor() = default;

  /// New storage, values undefined / zero.
  static Tensor empty(std::initializer_list<int64_t> shape, DType dtype, Device device = Device::kCpu);
  static Tensor zeros(std::initializer_list<int64_t> shape, DType dtype, Device device = Device::kCpu);

  /// Wraps memory that somebody else owns (an arena, a flat parameter buffer).
  static Tensor wrap(void* data, std::initializer_list<int64_t> shape, DType dtype,
                     Device device = Device::kCpu);
  /// New dense storage of the same shape and type, values undefined.
  static Tensor like(const Tensor& tensor, Device device);

  int dims() const { return dims_; }
  int64_t dim(int axis) const { return shape_[size_t(axis)]; }
  int64_t rows() const { return dims_ == 0 ? 0 : shape_[0]; }
  /// Elements in one row: the product of all dimensions but the first.
  int64_t row_size() const;
  /// Distance in elements between the starts of two rows; `row_size()` when dense.
  int64_t row_stride() const { return row_stride_; }
  bool dense() const { return rows() <= 1 || row_stride_ == row_size(); }
  int64_t size() const { return rows() * row_size(); }
  int64_t bytes() const { return size() * int64_t(size_of(dtype_)); }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  bool defined() const { return dims_ > 0; }
  std::string shape_text() const;  ///< for messages: "[3, 4] f32"

  void* raw() const { return data_; }

  /// Typed pointer to the first element. Throws: Error when T is not the tensor's element type.
  template <class T>
  T* data() const {
    ZT_CHECK(dtype_of<std::remove_const_t<T>>::value == dtype_, "tensor holds ", name_of(dtype_),
             ", asked for ", name_of(dtype_of<std::remove_const_t<T>>::value));
    return static_cast<T*>(data_);
  }
  template <class T>
  T* row(int64_t index) const {
    return data<T>() + index * row_stride_;
  }

  /// View of rows [begin, end).
  Tensor slice_rows(int64_t begin, int64_t end) const;
  /// View of columns [begin, end) of a matrix; keeps the row stride.
  Tensor columns(int64_t begin, int64_t end) const;
  /// Same elements, other shape; the tensor must be dense.
  Tensor reshape(std::initializer_list<int64_t> shape) const;

 private:
  void set_shape(std::initializer_list<int64_t> shape);

  std::array<int64_t, kMaxDims> shape_{};
  int dims_ = 0;
  int64_t row_stride_ = 0;
  DType dtype_ = DType::kF32;
  Device device_ = Device::kCpu;
  void* data_ = nullptr;
  std::shared_ptr<void> storage_;
};

/// Copies elements between tensors of the same shape and type (strides and devices may differ), in the order
/// of the device's main stream. Only a copy to the CPU waits; a copy from the CPU is read before it returns.
void copy(const Tensor& to, const Tensor& from);
/// The same in the order of another stream of the device; between tensors of the CPU it runs at once.
void copy(const Tensor& to, const Tensor& from, const Stream& stream);
/// Sets all bytes to zero.
void fill_zero(const Tensor& tensor);
void fill_zero(const Tensor& tensor, const Stream& stream);

// For the places where the host reads or writes values. On the CPU all three are free: the tensor itself is
// read and written.
/// The tensor itself on the CPU, else a dense copy of its values there (waits).
Tensor to_host(const Tensor& tensor);
/// Memory of the CPU to write the tensor's values to: itself, or a dense tensor of its shape, undefined
/// values.
Tensor host_twin(const Tensor& tensor);
/// Brings what was written to `host_twin(tensor)` into the tensor.
void from_host(const Tensor& tensor, const Tensor& host);
/// The tensor itself when it is there, else a copy on the device.
Tensor to_device(const Tensor& tensor, Device device);

}  // namespace zoetrope
