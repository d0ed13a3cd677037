#include "model/ops/cuda/cudnn_descriptor.h"

#include <array>

#include "core/check.h"

namespace zoetrope::cudnn {

void check_status(cudnnStatus_t status, const std::string& what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 1024> details{};
  cudnnGetLastErrorString(details.data(), details.size());
  throw Error(join_message("cuDNN ", cudnnGetVersion(), ": ", what, ": ", cudnnGetErrorString(status), ": ",
                           details.data(), "; CUDNN_LOGLEVEL_DBG=2 CUDNN_LOGDEST_DBG=stderr says more"));
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type, const char* name) : name_(name) {
  void* handle = nullptr;
  check_status(cudnnBackendCreateDescriptor(type, &handle), join_message("descriptor '", name, "'"));
  handle_.reset(handle);
}

void Descriptor::set(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type, int64_t count,
                     const void* elements) {
  check_status(cudnnBackendSetAttribute(handle(), attribute, type, count, elements),
               join_message("attribute ", int(attribute), " of ", name_));
}

void Descriptor::finalize() {
  check_status(cudnnBackendFinalize(handle()), join_message("finalize ", name_));
}

int64_t Descriptor::count(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type) const {
  return get(attribute, type, 0, nullptr);
}

int64_t Descriptor::get(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type,
                        int64_t count, void* elements) const {
  int64_t found = 0;
  check_status(cudnnBackendGetAttribute(handle(), attribute, type, count, &found, elements),
               join_message("read attribute ", int(attribute), " of ", name_));
  return found;
}

int64_t Descriptor::integer(cudnnBackendAttributeName_t attribute) const {
  int64_t value = 0;
  ZT_CHECK(get(attribute, CUDNN_TYPE_INT64, 1, &value) == 1, "cuDNN: attribute ", int(attribute), " of ",
           name_, " is not one integer");
  return value;
}

std::string Descriptor::text(cudnnBackendAttributeName_t attribute) const {
  std::string text(size_t(count(attribute, CUDNN_TYPE_CHAR)), '\0');
  get(attribute, CUDNN_TYPE_CHAR, int64_t(text.size()), text.data());
  text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
  return text;
}

}  // namespace zoetrope::cudnn
