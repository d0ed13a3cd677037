// Processors by their data sheets: cost sets of any network on them, and their memory. Nothing here was
// measured.
#pragma once

#include <optional>

#include "schedule/cost.h"
#include "schedule/network_shape.h"

namespace zoetrope {

/// The cost set of a network in bf16 on a processor that is named as in the built-in sets, such as "h100", or
/// "h100:wan-14b"; none when there is no such processor. Throws: UsageError when the name is one of another
/// network.
std::optional<CostModel> find_data_sheet(const std::string& name, const NetworkShape& shape,
                                         Recompute recompute);
/// Bytes that a rank may use on the processor of a data-sheet set: nine tenths of its memory, for context,
/// communication library and what the allocator can't use take some; 0 for other sets.
int64_t data_sheet_memory(const CostModel& cost);

}  // namespace zoetrope
