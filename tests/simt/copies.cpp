// Copies and fills of the emulated devices. Pageable host memory is read when the copy is issued, pinned host
// memory when the copy runs: who overwrites a pinned buffer too early sends the new bytes.
#include <cstring>

#include "tests/simt/memory.h"
#include "tests/simt/runtime.h"

using namespace simt::cuda;

namespace {

constexpr size_t kMostPitch = 0x7fffffff;  // cudaDeviceProp::memPitch of all devices

struct Block {
  char* data = nullptr;
  size_t pitch = 0;
};

struct Copy {
  Block to, from;
  size_t width = 0, height = 0;
  bool is_pitched = false;
  void run() const {
    for (size_t row = 0; row < height; ++row)
      std::memcpy(to.data + row * to.pitch, from.data + row * from.pitch, width);
  }
  size_t span(const Block& block) const { return (height - 1) * block.pitch + width; }
};

/// Device pointers must be device memory to their end, host pointers must not be.
std::string place_error(const Copy& copy, const Block& block, const char* end, bool expect_device, bool any) {
  const bool device = is_device(block.data);
  if (any ? !device : !expect_device && !device) return "";
  if (!any && device != expect_device)
    return std::string("its ") + end + (device ? " is device memory" : " is no device memory");
  const std::string range = device_range_error(block.data, copy.span(block));
  return range.empty() ? "" : std::string("its ") + end + ": " + range;
}

std::string copy_error(const Copy& copy, cudaMemcpyKind kind) {
  if (copy.to.pitch < copy.width || copy.from.pitch < copy.width) return "a pitch is smaller than the width";
  if (copy.is_pitched && (copy.to.pitch > kMostPitch || copy.from.pitch > kMostPitch))
    return "a pitch is more than 2^31 - 1 bytes";
  const bool any = kind == cudaMemcpyDefault;
  std::string wrong = place_error(copy, copy.to, "destination",
                                  kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice, any);
  if (wrong.empty())
    wrong = place_error(copy, copy.from, "source",
                        kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice, any);
  return wrong;
}

const char* name_of(bool to_device, bool from_device) {
  if (to_device) return from_device ? "copy on the device" : "copy to the device";
  return from_device ? "copy to the host" : "copy on the host";
}

/// `blocking`: the call returns when the bytes are there, whatever memory it is.
cudaError_t issue_copy(const Copy& copy, cudaMemcpyKind kind, cudaStream_t stream, bool blocking) {
  return call([&](Runtime& m, Lock& lock) {
    CUstream_st* s = m.stream(stream);
    if (s == nullptr) return refuse(cudaErrorInvalidResourceHandle, "copy in a stream that does not exist");
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
      return refuse(cudaErrorInvalidMemcpyDirection, "copy of kind ", int(kind));
    if (copy.width == 0 || copy.height == 0) return cudaSuccess;
    const std::string wrong = copy_error(copy, kind);
    const bool to_device = is_device(copy.to.data), from_device = is_device(copy.from.data);
    Operation operation;
    operation.what = std::string(name_of(to_device, from_device)) + " of " +
                     std::to_string(copy.width * copy.height) + " bytes";
    if (!wrong.empty()) return refuse(cudaErrorInvalidValue, operation.what, ": ", wrong);
    if (!from_device && to_device && !is_pinned(copy.from.data, copy.span(copy.from))) {
      auto staged = std::make_shared<std::vector<char>>(copy.width * copy.height);
      const Copy gather{{staged->data(), copy.width}, copy.from, copy.width, copy.height, false};
      gather.run();
      const Copy scatter{copy.to, {staged->data(), copy.width}, copy.width, copy.height, false};
      operation.run = [staged, scatter] { scatter.run(); };
    } else {
      operation.run = [copy] { copy.run(); };
    }
    const bool to_pageable = !to_device && !is_pinned(copy.to.data, copy.span(copy.to));
    const std::string what = operation.what;
    const Position position = m.issue(*s, std::move(operation));
    if (!blocking && !to_pageable) return cudaSuccess;
    if (to_device && from_device) return cudaSuccess;  // the host does not wait for these
    return m.wait_for(lock, {position}, what);
  });
}

Copy flat(void* dst, const void* src, size_t count) {
  char* from = static_cast<char*>(const_cast<void*>(src));
  return {{static_cast<char*>(dst), count}, {from, count}, count, 1, false};
}
Copy pitched(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height) {
  char* from = static_cast<char*>(const_cast<void*>(src));
  return {{static_cast<char*>(dst), dpitch}, {from, spitch}, width, height, true};
}

}  // namespace

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return issue_copy(flat(dst, src, count), kind, nullptr, true);
}
cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return issue_copy(flat(dst, src, count), kind, stream, false);
}
cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return issue_copy(pitched(dst, dpitch, src, spitch, width, height), kind, nullptr, true);
}
cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return issue_copy(pitched(dst, dpitch, src, spitch, width, height), kind, stream, false);
}

cudaError_t cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return call([&](Runtime& m, Lock&) {
    CUstream_st* s = m.stream(stream);
    if (s == nullptr) return refuse(cudaErrorInvalidResourceHandle, "fill in a stream that does not exist");
    if (width == 0 || height == 0) return cudaSuccess;
    const std::string wrong = pitch < width ? "the pitch is smaller than the width"
                                            : device_range_error(devPtr, (height - 1) * pitch + width);
    Operation operation;
    operation.what = "fill of " + std::to_string(width * height) + " bytes";
    if (!wrong.empty()) return refuse(cudaErrorInvalidValue, operation.what, ": ", wrong);
    operation.run = [=] {
      for (size_t row = 0; row < height; ++row)
        std::memset(static_cast<char*>(devPtr) + row * pitch, value, width);
    };
    m.issue(*s, std::move(operation));
    return cudaSuccess;
  });
}
cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  return cudaMemset2DAsync(devPtr, count, value, count, 1, stream);
}
cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  return cudaMemset2DAsync(devPtr, count, value, count, 1, nullptr);
}
