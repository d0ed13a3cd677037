// Work space of the operators as training finds it, for the prediction of a run's peak memory.
#pragma once

#include <cstdint>

#include "core/device.h"
#include "core/dtype.h"
#include "model/ops/types.h"

namespace zoetrope {

/// What the largest operators take from the arena on micro-batches of up to `max_tokens`; at most
/// `ops_workspace_bytes`, which reserves for whatever the library of products may want besides.
int64_t ops_workspace_in_use(Device device, int num_threads, int64_t max_tokens, int64_t width, int64_t ffn,
                             int64_t head_width, DType compute, const OpsSettings& settings = {});
/// `Ops::prepared_bytes` without operators.
int64_t ops_prepared_bytes(Device device, int64_t n, int64_t k, DType compute);
/// This backend's parts of the two.
int64_t cpu_prepared_bytes(int64_t n, int64_t k, DType compute);
int64_t cpu_workspace_in_use(int num_threads, int64_t max_tokens, int64_t width, int64_t ffn,
                             int64_t head_width, DType compute);

}  // namespace zoetrope
