// cuDNN, loaded when it is first called: programs start without it and run on machines that have none, unless
// attention by cuDNN is asked for. Each function hands on to the library's own.
#include <cudnn_graph.h>

#include <string>

#include "core/loaded_library.h"

namespace {

zoetrope::LoadedLibrary& library() {
  static zoetrope::LoadedLibrary cudnn(
      "libcudnn.so." + std::to_string(CUDNN_MAJOR), ZT_CUDNN_LIBRARIES,
      {"cuDNN", "attention kernel 'cudnn' needs", "", "use 'own', install cuDNN"});
  return cudnn;
}

}  // namespace

/// The library's own function of the same name as the one that calls.
#define ZT_OWN(name) static const auto own = library().find<decltype(name)>(#name)

extern "C" {

size_t CUDNNWINAPI cudnnGetVersion(void) {
  ZT_OWN(cudnnGetVersion);
  return own();
}
const char* CUDNNWINAPI cudnnGetErrorString(cudnnStatus_t status) {
  ZT_OWN(cudnnGetErrorString);
  return own(status);
}
void CUDNNWINAPI cudnnGetLastErrorString(char* message, size_t max_size) {
  ZT_OWN(cudnnGetLastErrorString);
  own(message, max_size);
}
cudnnStatus_t CUDNNWINAPI cudnnCreate(cudnnHandle_t* handle) {
  ZT_OWN(cudnnCreate);
  return own(handle);
}
cudnnStatus_t CUDNNWINAPI cudnnDestroy(cudnnHandle_t handle) {
  ZT_OWN(cudnnDestroy);
  return own(handle);
}
cudnnStatus_t CUDNNWINAPI cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  ZT_OWN(cudnnSetStream);
  return own(handle, stream);
}
cudnnStatus_t CUDNNWINAPI cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                                       cudnnBackendDescriptor_t* descriptor) {
  ZT_OWN(cudnnBackendCreateDescriptor);
  return own(type, descriptor);
}
cudnnStatus_t CUDNNWINAPI cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  ZT_OWN(cudnnBackendDestroyDescriptor);
  return own(descriptor);
}
cudnnStatus_t CUDNNWINAPI cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  ZT_OWN(cudnnBackendFinalize);
  return own(descriptor);
}
cudnnStatus_t CUDNNWINAPI cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                                   cudnnBackendAttributeName_t name,
                                                   cudnnBackendAttributeType_t type, int64_t count,
                                                   const void* elements) {
  ZT_OWN(cudnnBackendSetAttribute);
  return own(descriptor, name, type, count, elements);
}
cudnnStatus_t CUDNNWINAPI cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                                   cudnnBackendAttributeName_t name,
                                                   cudnnBackendAttributeType_t type, int64_t wanted,
                                                   int64_t* found, void* elements) {
  ZT_OWN(cudnnBackendGetAttribute);
  return own(descriptor, name, type, wanted, found, elements);
}
cudnnStatus_t CUDNNWINAPI cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                              cudnnBackendDescriptor_t pack) {
  ZT_OWN(cudnnBackendExecute);
  return own(handle, plan, pack);
}

}  // extern "C"
