// How the library of a backend besides the CPU's plugs its operators into the factory (make_ops.cpp).
#pragma once

#include <memory>

#include "model/ops/ops.h"

namespace zoetrope {

using MakeOps = std::unique_ptr<Ops> (*)(Arena& workspace, const OpsSettings& settings);
/// Called once at start, before any thread makes operators.
void register_ops(Device device, MakeOps make);

}  // namespace zoetrope
