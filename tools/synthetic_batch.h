// Micro-batches of made-up tokens for measurements: the shapes of a plan without a data set.
#pragma once

#include <vector>

#include "core/batch.h"
#include "model/config.h"
#include "schedule/plan.h"

namespace zoetrope {

/// What `slot` holds in wave `wave` of the plan, filled with noise-like pixels. Sample i has grid
/// {lengths[i], 1, 1} and draw number i.
MicroBatch make_synthetic_batch(const Plan& plan, int64_t wave, int slot, const std::vector<int64_t>& lengths,
                                const ModelConfig& model);

/// One wave in which every slot holds the same lengths whole; samples are numbered slot by slot.
Plan plan_of_equal_slots(int64_t num_slots, const std::vector<int64_t>& lengths_of_slot);
/// One wave in which one sample lies evenly over all slots.
Plan plan_of_one_ring(int64_t num_slots, int64_t tokens);

}  // namespace zoetrope
