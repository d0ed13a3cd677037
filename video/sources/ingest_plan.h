// What an ingest will do, before anything is decoded: every clip with its caption, its part of the file, or
// the reason why it can't be used. Also the inventory that tells on a restart whether the sources are still
// the same.
#pragma once

#include <string>
#include <vector>

#include "video/media/decode.h"
#include "video/sources/source_files.h"

namespace zoetrope {

/// What becomes of clips without a caption.
enum class MissingCaption { kError, kSkip, kEmpty, kFilename };
/// From "error", "skip", "empty", "filename". Throws: UsageError.
MissingCaption missing_caption_of(const std::string& name);

/// One clip: a whole file or a part of one.
struct PlannedClip {
  std::string name;  ///< in the data set; "#0", "#1" added when a file gives several
  std::string caption;
  Window window;
  bool has_window = false;
  std::string refused;   ///< reason, known without decoding
  bool skipped = false;  ///< refused because the user asked for it
};

/// One file with its clips.
struct PlannedSource {
  std::string path;  ///< below SOURCE, raw bytes
  std::vector<PlannedClip> clips;
};

struct IngestPlan {
  std::vector<PlannedSource> sources;  ///< sorted by path
  std::vector<std::string> warnings;
  int64_t ignored_files = 0;
};

/// Pairs media with captions: clip.txt beside clip.mp4 wins over a row of metadata.jsonl or metadata.csv.
IngestPlan plan_ingest(const std::string& source, MissingCaption missing);

/// A source as it was when an ingest began; kept beside the journal until the data set is sealed.
struct InventoryItem {
  std::string name;  ///< of a clip
  int64_t bytes = -1, modified_ns = 0;
  std::string caption_hash;  ///< of caption, window and what else is known without decoding
};
/// One item per clip, in order.
std::vector<InventoryItem> take_inventory(const std::string& source, const IngestPlan& plan);
/// Writes and reads it, in a folder of a data set.
void write_inventory(const std::string& folder, const std::vector<InventoryItem>& items);
std::vector<InventoryItem> read_inventory(const std::string& folder);
/// Where it lies.
std::string inventory_path(const std::string& folder);

}  // namespace zoetrope
