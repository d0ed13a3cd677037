// Everything of a data set that can be compared is compared: shards with their hashes, HDF5's checksums, each
// clip's payload with its own hash, manifest with shards with dataset.json. Used by `zoetrope inspect
// --verify` and by `zoetrope ingest --repair`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "video/store/manifest.h"

namespace zoetrope {

/// One thing that is wrong.
struct Damage {
  std::string file;  ///< in the data set's folder
  std::string clip;  ///< empty: the whole file
  std::string what;
};

/// What was found.
struct VerifyReport {
  int64_t shards = 0, clips = 0, refused = 0, bytes = 0;  ///< looked at
  std::vector<Damage> damage;
  int64_t damaged_shards = 0, damaged_clips = 0;
  bool index_is_damaged = false;  ///< dataset.json or manifest.jsonl
  bool sound() const { return damage.empty(); }
};

/// How far it is.
struct VerifyProgress {
  int64_t shards = 0, total_shards = 0;
  int64_t bytes = 0, total_bytes = 0;  ///< of shards
};

/// Reads all bytes of a finished data set. Damage is reported, all of it, never thrown. `progress` is called
/// at the begin and after each shard.
/// Throws: Error when the folder isn't there, or holds an unfinished data set, or none.
VerifyReport verify_dataset(const std::string& folder,
                            const std::function<void(const VerifyProgress&)>& progress = {});

}  // namespace zoetrope
