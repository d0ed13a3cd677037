// The checks of model/ops/checks.h for the CPU's ops.
#pragma once

#include "model/ops/checks.h"

namespace zoetrope::cpu {

using checks::check_matrix;
using checks::check_same_type;
using checks::check_vector;
using checks::check_wide;
using checks::dispatch;

}  // namespace zoetrope::cpu
