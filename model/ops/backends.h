// What a backend besides the CPU's gives to the factory of operators (make_ops.cpp): a table that its library
// registers at start.
#pragma once

#include <memory>

#include "model/ops/ops.h"

namespace zoetrope {

/// The sizes that work space depends on.
struct WorkspaceSizes {
  int64_t max_tokens = 0, width = 0, ffn = 0, head_width = 0;
  DType compute = DType::kF32;
};

/// Functions behind make_ops, ops_workspace_bytes, ops_workspace_in_use and precision_support.
struct OpsBackend {
  std::unique_ptr<Ops> (*make)(Arena& workspace);
  int64_t (*workspace_bytes)(const WorkspaceSizes& sizes);
  int64_t (*workspace_in_use)(const WorkspaceSizes& sizes);
  PrecisionSupport (*precision_support)(DType compute);
};

/// Called once at start, before any thread makes operators.
void register_ops(Device device, const OpsBackend& backend);

}  // namespace zoetrope
