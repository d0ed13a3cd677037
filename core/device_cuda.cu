#include "core/device_cuda.h"

#include "core/cuda_check.h"
#include "core/staging_cuda.h"

namespace zoetrope {
namespace {

constexpr int kOldestCapability = 80;  // the kernels use cp.async and bf16 mma.sync

cudaStream_t stream_of(void* handle) { return static_cast<cudaStream_t>(handle); }
cudaEvent_t event_of(void* handle) { return static_cast<cudaEvent_t>(handle); }

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int count_devices() {
  int count = 0, driver = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return count;
  (void)cudaGetLastError();
  (void)cudaDriverGetVersion(&driver);
  ZT_REQUIRE(driver != 0,
             "--device cuda: no NVIDIA driver found on this machine; install one, or use --device cpu");
  ZT_REQUIRE(driver / 1000 >= CUDART_VERSION / 1000,
             "--device cuda: the NVIDIA driver is too old: it supports CUDA ", version_text(driver),
             ", this program was built with CUDA ", version_text(CUDART_VERSION),
             "; update the driver, build with an older CUDA toolkit, or use --device cpu");
  throw Error(join_message("--device cuda: the driver offers no GPU (", cudaGetErrorString(status),
                           "); look at nvidia-smi and at CUDA_VISIBLE_DEVICES, or use --device cpu"));
}

DeviceInfo describe(int index) {
  cudaDeviceProp properties{};
  ZT_CUDA(cudaGetDeviceProperties(&properties, index));
  return {.name = properties.name,
          .index = index,
          .total_bytes = int64_t(properties.totalGlobalMem),
          .free_bytes = 0,
          .multiprocessors = properties.multiProcessorCount,
          .capability_major = properties.major,
          .capability_minor = properties.minor};
}

void use_device(int index) {
  const int count = count_devices();
  ZT_REQUIRE(0 <= index && index < count, "--device cuda: GPU ", index, " asked for, this machine has ",
             count, ": start at most as many ranks on it");
  const DeviceInfo info = describe(index);
  ZT_REQUIRE(info.capability_major * 10 + info.capability_minor >= kOldestCapability, "--device cuda: GPU ",
             index, " (", info.name, ") has compute capability ", info.capability_major, ".",
             info.capability_minor, ", the kernels need 8.0 or later; use --device cpu");
  ZT_CUDA(cudaSetDevice(index));
}

DeviceInfo describe_current() {
  int index = 0;
  ZT_CUDA(cudaGetDevice(&index));
  DeviceInfo info = describe(index);
  size_t free_bytes = 0, total_bytes = 0;
  ZT_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  info.free_bytes = int64_t(free_bytes);
  info.total_bytes = int64_t(total_bytes);
  return info;
}

std::shared_ptr<void> allocate_on_device(size_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes == 0 ? 1 : bytes);
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    const DeviceInfo info = describe_current();
    throw Error(join_message("out of GPU memory: ", bytes, " bytes asked for, ", info.free_bytes, " of ",
                             info.total_bytes, " are free on GPU ", info.index, " (", info.name, ")"));
  }
  ZT_CUDA(status);
  return std::shared_ptr<void>(memory, [](void* p) { (void)cudaFree(p); });
}

void copy_rows(const RowBlock& to, const RowBlock& from, cudaMemcpyKind kind, void* stream) {
  if (to.rows == 1) {
    ZT_CUDA(cudaMemcpyAsync(to.data, from.data, to.row_bytes, kind, stream_of(stream)));
  } else {
    ZT_CUDA(cudaMemcpy2DAsync(to.data, to.stride_bytes, from.data, from.stride_bytes, to.row_bytes, to.rows,
                              kind, stream_of(stream)));
  }
}

void copy_from_host(const RowBlock& to, const RowBlock& from, void* stream) {
  staging_of_device().upload(to, from, stream_of(stream));
}

void copy_to_host(const RowBlock& to, const RowBlock& from, void* stream) {
  copy_rows(to, from, cudaMemcpyDeviceToHost, stream);
  ZT_CUDA(cudaStreamSynchronize(stream_of(stream)));
}

void copy_on_device(const RowBlock& to, const RowBlock& from, void* stream) {
  copy_rows(to, from, cudaMemcpyDeviceToDevice, stream);
}

void zero_rows(const RowBlock& block, void* stream) {
  if (block.rows == 1) {
    ZT_CUDA(cudaMemsetAsync(block.data, 0, block.row_bytes, stream_of(stream)));
  } else {
    ZT_CUDA(
        cudaMemset2DAsync(block.data, block.stride_bytes, 0, block.row_bytes, block.rows, stream_of(stream)));
  }
}

std::shared_ptr<void> make_stream() {
  cudaStream_t stream = nullptr;
  ZT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return std::shared_ptr<void>(stream, [](void* handle) { (void)cudaStreamDestroy(stream_of(handle)); });
}

void synchronize_stream(void* stream) { ZT_CUDA(cudaStreamSynchronize(stream_of(stream))); }

std::shared_ptr<void> make_event() {
  cudaEvent_t event = nullptr;
  ZT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return std::shared_ptr<void>(event, [](void* handle) { (void)cudaEventDestroy(event_of(handle)); });
}

void record_event(void* event, void* stream) { ZT_CUDA(cudaEventRecord(event_of(event), stream_of(stream))); }

void wait_event(void* event, void* stream) {
  ZT_CUDA(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0));
}

void synchronize_event(void* event) { ZT_CUDA(cudaEventSynchronize(event_of(event))); }

bool event_complete(void* event) {
  const cudaError_t status = cudaEventQuery(event_of(event));
  if (status == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  ZT_CUDA(status);
  return true;
}

}  // namespace

DeviceBackend cuda_device_backend() {
  renew_staging();
  return {.allocate = allocate_on_device,
          .copy_from_host = copy_from_host,
          .copy_to_host = copy_to_host,
          .copy_on_device = copy_on_device,
          .fill_zero = zero_rows,
          .make_stream = make_stream,
          .synchronize_stream = synchronize_stream,
          .make_event = make_event,
          .record_event = record_event,
          .wait_event = wait_event,
          .synchronize_event = synchronize_event,
          .event_complete = event_complete,
          .device_count = count_devices,
          .select_device = use_device,
          .device_info = describe_current};
}

}  // namespace zoetrope
