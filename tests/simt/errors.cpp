// Errors and properties of the emulated devices.
#include <algorithm>
#include <cstring>
#include <set>

#include "tests/simt/memory.h"
#include "tests/simt/runtime.h"

namespace simt::cuda {
namespace {

struct LastError {
  cudaError_t code = cudaSuccess;
  std::string text;
};
LastError& last_error() {
  thread_local LastError one;
  return one;
}

struct ErrorName {
  cudaError_t code;
  const char *name, *text;
};
constexpr ErrorName kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};
const ErrorName& entry_of(cudaError_t code) {
  static constexpr ErrorName unknown{cudaErrorUnknown, "cudaErrorUnknown", "unknown error"};
  for (const ErrorName& each : kErrors)
    if (each.code == code) return each;
  return unknown;
}

/// The driver must be there, new enough, and see a device.
cudaError_t driver_error(const Runtime& m) {
  if (m.options.driver_version < CUDART_VERSION)
    return refuse(cudaErrorInsufficientDriver, "driver ", m.options.driver_version, ", runtime ",
                  CUDART_VERSION);
  return m.options.devices == 0 ? refuse(cudaErrorNoDevice, "none") : cudaSuccess;
}

}  // namespace

cudaError_t keep_error(cudaError_t code, const std::string& text) {
  last_error() = {code, text};
  return code;
}

}  // namespace simt::cuda

using namespace simt::cuda;

cudaError_t cudaGetLastError() {
  LastError& last = last_error();
  const cudaError_t code = last.code;
  const Lock lock(runtime().mutex);
  last.code = runtime().failure;  // a sticky error stays; the text is kept for cudaGetErrorString
  return runtime().failure != cudaSuccess ? runtime().failure : code;
}
cudaError_t cudaPeekAtLastError() {
  const Lock lock(runtime().mutex);
  return runtime().failure != cudaSuccess ? runtime().failure : last_error().code;
}

/// Beyond the real text it says what the emulated device found wrong, for the calling thread's last error.
const char* cudaGetErrorString(cudaError_t error) {
  thread_local std::set<std::string> kept;  // the caller may hold on to it
  const ErrorName& entry = entry_of(error);
  if (error == cudaSuccess || error == cudaErrorNotReady || last_error().text.empty()) return entry.text;
  return kept.insert(std::string(entry.text) + ": " + last_error().text).first->c_str();
}
const char* cudaGetErrorName(cudaError_t error) { return entry_of(error).name; }

cudaError_t cudaGetDeviceCount(int* count) {
  return call([&](Runtime& m, Lock&) {
    *count = 0;
    const cudaError_t error = driver_error(m);
    if (error == cudaSuccess) *count = m.options.devices;
    return error;
  });
}
cudaError_t cudaSetDevice(int device) {
  return call([&](Runtime& m, Lock&) {
    const cudaError_t error = driver_error(m);
    if (error != cudaSuccess) return error;
    if (device < 0 || device >= m.options.devices)
      return refuse(cudaErrorInvalidDevice, "device ", device, " of ", m.options.devices);
    current_device() = device;
    return cudaSuccess;
  });
}
cudaError_t cudaGetDevice(int* device) {
  return call([&](Runtime& m, Lock&) {
    *device = current_device();
    return driver_error(m);
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  return call([&](Runtime& m, Lock&) {
    if (device < 0 || device >= m.options.devices) return refuse(cudaErrorInvalidDevice, "device ", device);
    switch (attr) {
      case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
      case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 * 1024; break;
      case cudaDevAttrWarpSize: *value = 32; break;
      case cudaDevAttrClockRate: *value = 1980000; break;
      case cudaDevAttrMultiProcessorCount: *value = 132; break;
      case cudaDevAttrMemoryClockRate: *value = 3201000; break;
      case cudaDevAttrGlobalMemoryBusWidth: *value = 6144; break;
      case cudaDevAttrL2CacheSize: *value = 60 << 20; break;
      case cudaDevAttrComputeCapabilityMajor: *value = m.options.compute_major; break;
      case cudaDevAttrComputeCapabilityMinor: *value = m.options.compute_minor; break;
      case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 228 * 1024; break;
      case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 * 1024; break;
      default: return refuse(cudaErrorInvalidValue, "device attribute ", int(attr));
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  return call([&](Runtime& m, Lock&) {
    if (device < 0 || device >= m.options.devices) return refuse(cudaErrorInvalidDevice, "device ", device);
    std::memset(static_cast<void*>(prop), 0, sizeof *prop);
    std::strncpy(prop->name, "emulated device", sizeof prop->name - 1);
    prop->totalGlobalMem = size_t(m.options.capacity_bytes);
    prop->sharedMemPerBlock = 48 * 1024;
    prop->sharedMemPerBlockOptin = 227 * 1024;
    prop->sharedMemPerMultiprocessor = 228 * 1024;
    prop->regsPerBlock = 65536;
    prop->warpSize = 32;
    prop->maxThreadsPerBlock = 1024;
    prop->major = m.options.compute_major;
    prop->minor = m.options.compute_minor;
    prop->multiProcessorCount = 132;
    prop->pciBusID = device;
    prop->asyncEngineCount = 3;
    prop->memoryBusWidth = 6144;
    prop->l2CacheSize = 60 << 20;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  return call([&](Runtime& m, Lock&) {
    if (std::max(device, peerDevice) >= m.options.devices)
      return refuse(cudaErrorInvalidDevice, "device ", peerDevice);
    *canAccessPeer = device != peerDevice;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  *leastPriority = 0;
  *greatestPriority = -5;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* driverVersion) {
  const Lock lock(runtime().mutex);
  *driverVersion = runtime().options.driver_version;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* runtimeVersion) {
  *runtimeVersion = CUDART_VERSION;
  return cudaSuccess;
}
