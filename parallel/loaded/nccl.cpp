// NCCL, loaded when it is first called: programs with the CUDA backend start without it and run where it is
// not installed, as long as they use one GPU. Only in builds for real GPUs; each function hands on to the
// library's.
#include <dlfcn.h>
#include <nccl.h>

#include <mutex>
#include <string>

#include "core/check.h"

namespace zoetrope {
namespace {

/// The library, from the dynamic loader's paths or else from where the program was built.
/// Throws: Error naming the file and both places' messages.
void* library() {
  static std::mutex mutex;
  static void* handle = nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  if (handle) return handle;
  const std::string name = "libnccl.so." + std::to_string(NCCL_MAJOR);
  std::string errors;
  for (const std::string& path : {name, std::string(ZT_NCCL_LIBRARIES) + "/" + name}) {
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle) return handle;
    errors += std::string("\n  ") + dlerror();
  }
  throw Error("several GPUs need " + name + ", which was not found:" + errors +
              "\ninstall NCCL, or name its folder in LD_LIBRARY_PATH");
}

template <class Function>
Function* find(const char* name) {
  void* found = dlsym(library(), name);
  ZT_CHECK(found != nullptr, "NCCL has no function ", name, ": ", dlerror());
  return reinterpret_cast<Function*>(found);
}

}  // namespace
}  // namespace zoetrope

#define ZT_HAND_ON(name, ...)                                            \
  static auto* const function = zoetrope::find<decltype(::name)>(#name); \
  return function(__VA_ARGS__)

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) { ZT_HAND_ON(ncclGetUniqueId, id); }
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  ZT_HAND_ON(ncclCommInitRank, comm, ranks, id, rank);
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) { ZT_HAND_ON(ncclCommDestroy, comm); }
ncclResult_t ncclCommAbort(ncclComm_t comm) { ZT_HAND_ON(ncclCommAbort, comm); }
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  ZT_HAND_ON(ncclCommGetAsyncError, comm, error);
}
const char* ncclGetErrorString(ncclResult_t result) { ZT_HAND_ON(ncclGetErrorString, result); }
const char* ncclGetLastError(ncclComm_t comm) { ZT_HAND_ON(ncclGetLastError, comm); }
ncclResult_t ncclGroupStart() {
  static auto* const function = zoetrope::find<decltype(::ncclGroupStart)>("ncclGroupStart");
  return function();
}
ncclResult_t ncclGroupEnd() {
  static auto* const function = zoetrope::find<decltype(::ncclGroupEnd)>("ncclGroupEnd");
  return function();
}
ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  ZT_HAND_ON(ncclSend, data, count, type, peer, comm, stream);
}
ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  ZT_HAND_ON(ncclRecv, data, count, type, peer, comm, stream);
}
