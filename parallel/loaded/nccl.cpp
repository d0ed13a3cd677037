// NCCL, loaded when it is first called: programs with the CUDA backend start without it and run where it is
// not installed, as long as they use one GPU. Only in builds for real GPUs; each function hands on to the
// library's.
#include <nccl.h>

#include <string>

#include "core/loaded_library.h"

namespace {

zoetrope::LoadedLibrary& library() {
  static zoetrope::LoadedLibrary nccl("libnccl.so." + std::to_string(NCCL_MAJOR), ZT_NCCL_LIBRARIES,
                                      {"NCCL", "several GPUs need", "", "install NCCL"});
  return nccl;
}

}  // namespace

#define ZT_HAND_ON(name, ...)                                            \
  static auto* const function = library().find<decltype(::name)>(#name); \
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
  static auto* const function = library().find<decltype(::ncclGroupStart)>("ncclGroupStart");
  return function();
}
ncclResult_t ncclGroupEnd() {
  static auto* const function = library().find<decltype(::ncclGroupEnd)>("ncclGroupEnd");
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
