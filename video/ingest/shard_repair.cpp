#include "video/ingest/shard_repair.h"

#include <filesystem>

#include "core/check.h"
#include "video/store/dataset_writer.h"

namespace zoetrope {

std::vector<ShardRecord> find_broken_shards(const std::string& folder, bool deep) {
  std::vector<ShardRecord> broken;
  for (const ShardRecord& record : read_dataset_json(folder).shards) {
    std::error_code error;
    const auto size = std::filesystem::file_size(folder + "/" + record.file, error);
    const bool good = !error && int64_t(size) == record.bytes && (!deep || shard_is_whole(folder, record));
    if (!good) broken.push_back(record);
  }
  return broken;
}

ShardRepair::ShardRepair(const std::string& folder, const Patch& patch,
                         const std::vector<ManifestEntry>& entries, ShardRecord record)
    : folder_(folder), record_(std::move(record)), shard_(patch) {
  for (const ManifestEntry& entry : entries)
    if (entry.shard == record_.file) wanted_[entry.name] = entry;
}

void ShardRepair::add(ReadyClip& ready) {
  const ManifestEntry& then = wanted_.at(ready.entry.name);
  if (ready.entry.has_sample())
    place_entry(ready.entry, record_.file, shard_.num_samples(), ready.clip, ready.tokens);
  ZT_REQUIRE(manifest_line(ready.entry) == manifest_line(then), "'", ready.entry.name,
             "' gives something else now than when '", folder_, "' was made:\n  then ", manifest_line(then),
             "\n  now  ", manifest_line(ready.entry), "\nnothing was changed; ingest into another folder");
  if (shard_.num_samples() == 0) shard_.begin(folder_ + "/" + record_.file);
  shard_.append(ready.clip, ready.caption, ready.tokens);
}

void ShardRepair::finish() {
  const std::string path = folder_ + "/" + record_.file;
  const FinishedImage finished = shard_.num_samples() > 0 ? shard_.finish() : FinishedImage{};
  ZT_REQUIRE(finished.file != nullptr && finished.hash == record_.hash, "'", path,
             "' made anew has other bytes than dataset.json says: another version of HDF5 writes it now; "
             "nothing was "
             "changed; ingest into another folder");
  finished.file->commit();
}

}  // namespace zoetrope
