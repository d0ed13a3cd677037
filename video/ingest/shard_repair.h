// A damaged shard of a finished data set, made anew from its sources: the same bytes, or nothing changes.
// Used by video/ingest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "video/ingest/ready_clip.h"
#include "video/store/manifest.h"
#include "video/store/shard.h"

namespace zoetrope {

/// Shards that are missing or have another size than they should; with `deep` also those whose bytes have
/// another hash, for which all are read.
std::vector<ShardRecord> find_broken_shards(const std::string& folder, bool deep);

/// Takes the clips of one shard and puts it in its place.
class ShardRepair {
 public:
  ShardRepair(const std::string& folder, const Patch& patch, const std::vector<ManifestEntry>& entries,
              ShardRecord record);
  /// Whether a clip belongs to the shard.
  bool wants(const std::string& name) const { return wanted_.count(name) > 0; }
  int64_t num_wanted() const { return int64_t(wanted_.size()); }
  /// Adds the next of its clips. Throws: Error when what was decoded isn't what the manifest says.
  void add(ReadyClip& ready);
  /// Writes the shard. Throws: Error, and changes nothing, unless it has the bytes that it had.
  void finish();

 private:
  std::string folder_;
  ShardRecord record_;
  std::map<std::string, ManifestEntry> wanted_;
  ShardWriter shard_;
};

}  // namespace zoetrope
