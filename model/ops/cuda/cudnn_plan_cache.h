// The plans of one device, each compiled when its shape comes up first.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "core/check.h"
#include "model/ops/cuda/cudnn_attention.h"

namespace zoetrope::cudnn {

/// Used by one thread at a time.
class PlanCache {
 public:
  PlanCache(DeviceProperties device, Bits bits) : device_(std::move(device)), bits_(bits) {}

  /// A plan, or why there is none.
  struct Entry {
    std::shared_ptr<const AttentionPlan> plan;
    std::string refusal;
  };
  /// The plan for `bucketed(shape)`. A refusal is kept as well: the work space of a shape is always the same.
  const Entry& get(Pass pass, const AttentionShape& shape, int64_t most_workspace_bytes) {
    const AttentionShape bucket = bucketed(shape);
    const auto [place, is_new] = plans_.try_emplace({pass, bucket});
    if (is_new) {
      try {
        place->second.plan = AttentionPlan::build(pass, bucket, device_, bits_, most_workspace_bytes);
      } catch (const Error& e) { place->second.refusal = e.what(); }
    }
    return place->second;
  }
  int64_t num_plans() const { return int64_t(plans_.size()); }
  const DeviceProperties& device() const { return device_; }
  Bits bits() const { return bits_; }

 private:
  DeviceProperties device_;
  Bits bits_;
  std::map<std::pair<Pass, AttentionShape>, Entry> plans_;
};

}  // namespace zoetrope::cudnn
