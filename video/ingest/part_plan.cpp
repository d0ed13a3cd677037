#include "video/ingest/part_plan.h"

namespace zoetrope {

std::string keep_part(const PartNumber& part, IngestPlan& plan, std::vector<InventoryItem>& inventory) {
  SourcesHash hash;
  for (const InventoryItem& item : inventory) hash.add(item.name, item.bytes, item.caption_hash);
  std::vector<int64_t> bytes;
  std::vector<size_t> items{0};  // of the files before each
  for (const PlannedSource& source : plan.sources) {
    bytes.push_back(source.clips.empty() ? 0 : inventory[items.back()].bytes);
    items.push_back(items.back() + source.clips.size());
  }
  const Slice slice = slice_of_part(bytes, part);
  inventory = {inventory.begin() + int64_t(items[slice.begin]),
               inventory.begin() + int64_t(items[slice.end])};
  plan.sources = {plan.sources.begin() + int64_t(slice.begin), plan.sources.begin() + int64_t(slice.end)};
  return hash.text();
}

}  // namespace zoetrope
