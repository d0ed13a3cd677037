// Descriptors of cuDNN's graph API, owned, and its errors as Error. Everything that the API builds, tensors,
// operations, graphs and plans, is such a descriptor: attributes are set, then it is finalized.
#pragma once

#include <cudnn_graph.h>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace zoetrope::cudnn {

/// Throws Error with cuDNN's own words when `status` is no success; `what` says what was tried.
void check_status(cudnnStatus_t status, const std::string& what);

class Descriptor {
 public:
  /// `name` is for messages and outlives the descriptor.
  Descriptor(cudnnBackendDescriptorType_t type, const char* name);

  void* handle() const { return handle_.get(); }

  /// Sets an attribute whose elements are as `type` says. Throws: Error when cuDNN refuses it.
  void set(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type, int64_t count,
           const void* elements);
  /// Sets an attribute of one element, an enumerator or a number.
  template <class T>
  void set_one(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type, T element) {
    set(attribute, type, 1, &element);
  }
  void set_bool(cudnnBackendAttributeName_t attribute, bool value) {
    set_one(attribute, CUDNN_TYPE_BOOLEAN, value);
  }
  void set_integers(cudnnBackendAttributeName_t attribute, std::span<const int64_t> values) {
    set(attribute, CUDNN_TYPE_INT64, int64_t(values.size()), values.data());
  }
  void set_descriptor(cudnnBackendAttributeName_t attribute, const Descriptor& value) {
    set_one(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.handle());
  }
  void set_text(cudnnBackendAttributeName_t attribute, const std::string& text) {
    set(attribute, CUDNN_TYPE_CHAR, int64_t(text.size()), text.data());
  }
  /// No attribute changes after this. Throws: Error when cuDNN refuses what was set.
  void finalize();

  /// How many elements an attribute has.
  int64_t count(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type) const;
  /// Reads an attribute into `elements`; returns how many there are, which may be fewer than `count`.
  int64_t get(cudnnBackendAttributeName_t attribute, cudnnBackendAttributeType_t type, int64_t count,
              void* elements) const;
  int64_t integer(cudnnBackendAttributeName_t attribute) const;
  std::string text(cudnnBackendAttributeName_t attribute) const;

 private:
  struct Destroy {
    void operator()(void* handle) const { (void)cudnnBackendDestroyDescriptor(handle); }
  };
  std::unique_ptr<void, Destroy> handle_;
  const char* name_;
};

}  // namespace zoetrope::cudnn
