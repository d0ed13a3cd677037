// Parts of a data set, made by several machines, become one: the clips of all parts in order, cut into shards
// anew, so that the bytes are those of a single ingest. Nothing is decoded. Used by `zoetrope merge`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "video/store/manifest.h"

namespace zoetrope {

/// How far it is.
struct MergeProgress {
  int64_t done = 0, total = 0;         ///< clips
  int64_t bytes = 0, total_bytes = 0;  ///< payload that this run has copied and has to copy
};

/// What came out.
struct MergeResult {
  std::vector<ManifestEntry> entries;
  int64_t resumed = 0;        ///< clips that an earlier run had copied
  bool was_complete = false;  ///< the data set was there already, made from these parts
};

/// Checks that the folders are all parts of one data set, each once, made from the same sources by the same
/// rules; then copies every clip, comparing the hash of each shard and of each clip's payload. Parts are read
/// alone. Killed at any moment, it goes on where it was.
/// Throws: UsageError for folders that lie in each other; Error that names the part, what is wrong with it,
/// and what to do.
MergeResult merge_parts(const std::string& dataset, const std::vector<std::string>& parts,
                        const std::function<void(const MergeProgress&)>& progress);

}  // namespace zoetrope
