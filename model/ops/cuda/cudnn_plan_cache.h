// The plans of one device, each compiled when its shape comes up first.
#pragma once

#include <map>
#include <utility>

#include "model/ops/cuda/cudnn_attention.h"

namespace zoetrope::cudnn {

/// Used by one thread at a time.
class PlanCache {
 public:
  PlanCache(DeviceProperties device, Bits bits) : device_(std::move(device)), bits_(bits) {}

  /// The plan for `bucketed(shape)`. Throws: as AttentionPlan::build.
  const AttentionPlan& get(Pass pass, const AttentionShape& shape) {
    const AttentionShape bucket = bucketed(shape);
    std::shared_ptr<const AttentionPlan>& plan = plans_[{pass, bucket}];
    if (!plan) plan = AttentionPlan::build(pass, bucket, device_, bits_);
    return *plan;
  }
  int64_t num_plans() const { return int64_t(plans_.size()); }
  const DeviceProperties& device() const { return device_; }
  Bits bits() const { return bits_; }

 private:
  DeviceProperties device_;
  Bits bits_;
  std::map<std::pair<Pass, AttentionShape>, std::shared_ptr<const AttentionPlan>> plans_;
};

}  // namespace zoetrope::cudnn
