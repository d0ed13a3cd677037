// The share of one machine when several make a data set: a slice of the sorted files. Used by video/ingest.
#pragma once

#include <string>
#include <vector>

#include "video/sources/ingest_plan.h"
#include "video/store/part.h"

namespace zoetrope {

/// Leaves the files of one part in the plan and in the inventory. Returns the hash of all of them, by which
/// the merge knows that all parts had the same sources.
std::string keep_part(const PartNumber& part, IngestPlan& plan, std::vector<InventoryItem>& inventory);

}  // namespace zoetrope
