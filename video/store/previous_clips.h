// Clips of a data set that is being redone since its sources changed: the tokens of a file that is still the
// same are taken from the earlier shards instead of decoded again. What was dropped lies in
// DATASET/previous.partial until the new data set is sealed. It is a cache: what is missing there, or
// damaged, is decoded. Used by video/ingest.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "video/clip.h"
#include "video/store/manifest.h"
#include "video/store/shard.h"
#include "video/tokens.h"

namespace zoetrope {

/// Where the cache of a data set lies.
std::string previous_path(const std::string& folder);
/// Notes entries and shards that a data set is about to lose; the shards are moved when the cache is opened.
void remember_clips(const std::string& folder, std::vector<ManifestEntry> entries,
                    const std::vector<ShardRecord>& shards);
/// Removes the cache.
void forget_previous(const std::string& folder);

/// The cache, read by several threads.
class PreviousClips {
 public:
  /// Opens what `remember_clips` noted, if anything; shards that `kept` names stay with the data set.
  PreviousClips(const std::string& folder, const std::vector<ShardRecord>& kept);

  struct Found {
    ManifestEntry entry;  ///< as it was, its shard and row included
    Clip clip;            ///< without pixels
    Tokens tokens;
  };
  /// All clips of one file, in order; nothing when one of them was refused, isn't there or can't be read.
  /// `is_same(i, entry)` says whether clip i comes from the same bytes, caption and window.
  std::vector<Found> find(const std::vector<std::string>& names,
                          const std::function<bool(size_t, const ManifestEntry&)>& is_same);
  /// Says that these clips won't be asked for again: a shard without others is removed, so that the old and
  /// the new data set together don't need twice the room.
  void release(const std::vector<std::string>& names);

 private:
  std::shared_ptr<const ShardReader> reader(const std::string& file);
  Found read(const ManifestEntry& entry);

  std::string folder_;
  std::map<std::string, ManifestEntry> entries_;
  std::map<std::string, size_t> clips_left_;                        ///< by shard
  std::map<std::string, std::shared_ptr<const ShardReader>> open_;  ///< null: damaged or missing
  std::mutex lock_;
};

}  // namespace zoetrope
