// A handler that says what device memory a forbidden access hit, before the program ends by the signal.
#pragma once

#include "tests/simt/memory.h"

namespace simt::cuda {

/// Accesses to this allocation's pages are explained from here on.
void watch_faults(const Allocation& allocation);
void forget_faults(const Allocation& allocation);
/// The calling thread runs this operation of a device; null when it runs host code again.
void set_running_operation(const char* name);

}  // namespace simt::cuda
