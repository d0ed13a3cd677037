// Plans run on a stream. A plan is compiled for a description of the device; a handle takes it over by its
// JSON, as cuDNN asks of plans that were made without one.
#include <cuda_runtime_api.h>
#include <map>

#include "core/check.h"
#include "model/ops/cuda/cudnn_attention.h"
#include "model/ops/cuda/cudnn_descriptor.h"

namespace zoetrope::cudnn {
namespace {

struct DestroyHandle {
  void operator()(cudnnContext* handle) const { (void)cudnnDestroy(handle); }
};
using Handle = std::unique_ptr<cudnnContext, DestroyHandle>;

Handle make_handle(void* stream) {
  cudnnHandle_t handle = nullptr;
  check_status(cudnnCreate(&handle), "handle");
  Handle owned(handle);
  check_status(cudnnSetStream(handle, static_cast<cudaStream_t>(stream)), "stream of the handle");
  return owned;
}

DeviceProperties properties_of(cudnnHandle_t handle) {
  Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device properties");
  properties.set_one(CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, handle);
  properties.finalize();
  return {properties.text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)};
}

}  // namespace

struct Runner::Parts {
  explicit Parts(void* stream) : handle(make_handle(stream)), device(properties_of(handle.get())) {}

  /// The plan as the handle has it; taken over when it runs first, which takes 0.1 s.
  const Descriptor& bound(const std::shared_ptr<const AttentionPlan>& plan) {
    const auto known = plans.find(plan);
    if (known != plans.end()) return known->second;
    Descriptor own(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "execution plan of a handle");
    own.set_one(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle.get());
    own.set_text(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, plan->json());
    own.finalize();
    return plans.emplace(plan, std::move(own)).first->second;
  }

  Handle handle;
  DeviceProperties device;
  std::map<std::shared_ptr<const AttentionPlan>, Descriptor> plans;
};

Runner::Runner(void* stream) : parts_(std::make_unique<Parts>(stream)) {}
Runner::~Runner() = default;
const DeviceProperties& Runner::device() const { return parts_->device; }

void Runner::run(const std::shared_ptr<const AttentionPlan>& plan, std::span<const PlacedTensor> tensors,
                 void* workspace) {
  std::vector<int64_t> ids;
  std::vector<void*> places;
  for (const PlacedTensor& each : tensors) {
    ids.push_back(int64_t(each.id));
    places.push_back(const_cast<void*>(each.data));
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "variant pack");
  pack.set_integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, int64_t(places.size()), places.data());
  pack.set_one(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finalize();
  check_status(cudnnBackendExecute(parts_->handle.get(), parts_->bound(plan).handle(), pack.handle()),
               "run a plan");
}

}  // namespace zoetrope::cudnn
