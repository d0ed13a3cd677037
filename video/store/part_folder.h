// A finished part on disk, read clip by clip with every hash compared. Used by video/ingest/merge.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "video/store/dataset_writer.h"
#include "video/store/folder_lock.h"
#include "video/store/manifest.h"
#include "video/store/shard.h"

namespace zoetrope {

/// A clip as a part holds it.
struct PartClip {
  Clip clip;  ///< without pixels
  std::string caption;
  Tokens tokens;
};

/// One part; nobody can write to it while the object lives.
class PartFolder {
 public:
  /// Throws: Error when the folder is no finished part.
  explicit PartFolder(const std::string& folder);
  const std::string& folder() const { return folder_; }
  const DatasetSummary& summary() const { return summary_; }
  const std::vector<ManifestEntry>& entries() const { return entries_; }
  std::vector<ManifestEntry>& entries() { return entries_; }
  /// Reads a clip that isn't refused; clips in order read each shard once.
  /// Throws: Error that names the shard and the clip when anything isn't as it was written.
  PartClip read(const ManifestEntry& entry);

 private:
  void open_shard(const std::string& file);

  std::string folder_;
  FolderLock lock_;
  DatasetSummary summary_;
  std::vector<ManifestEntry> entries_;
  std::string open_file_;
  std::unique_ptr<const ShardReader> shard_;
};

/// Orders parts by their numbers. Throws: Error when one is missing, given twice, or of another data set.
void sort_parts(std::vector<std::unique_ptr<PartFolder>>& parts);

}  // namespace zoetrope
