// Which sources differ from those that a data set was made or begun from. Used by video/ingest.
#pragma once

#include <string>
#include <vector>

#include "video/sources/ingest_plan.h"
#include "video/store/manifest.h"

namespace zoetrope {

/// The differences, and how many clips at the beginning are the same.
struct SourceChanges {
  std::vector<std::string> added, removed, changed;
  int64_t same_prefix = 0;
  bool any() const { return !added.empty() || !removed.empty() || !changed.empty(); }
  /// "2 added: a, b; 1 changed: c".
  std::string text() const;
};

/// Against an inventory taken when the ingest began; `decided` clips carry hashes that tell a touched file
/// from a changed one. `paths[i]` is where `now[i]` lies.
SourceChanges compare_with_inventory(const std::vector<InventoryItem>& then,
                                     const std::vector<InventoryItem>& now,
                                     const std::vector<ManifestEntry>& decided,
                                     const std::vector<MediaLocation>& paths);
/// Against the manifest of a finished data set: sizes, captions, and contents, which are all read, `workers`
/// at a time.
SourceChanges compare_with_manifest(const std::vector<ManifestEntry>& then,
                                    const std::vector<InventoryItem>& now,
                                    const std::vector<MediaLocation>& paths, int64_t workers);

}  // namespace zoetrope
