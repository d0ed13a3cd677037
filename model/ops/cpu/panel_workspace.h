// Work space of products on panels.
#pragma once

#include <cstdint>

namespace zoetrope {

/// Bytes that weight gradients of [n, k] from up to `max_tokens` rows take.
int64_t weight_gradient_workspace_bytes(int num_threads, int64_t max_tokens, int64_t n, int64_t k);

}  // namespace zoetrope
