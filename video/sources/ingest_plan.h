// What an ingest will do, before anything is decoded: every clip with its caption, its part of the file, or
// the reason why it can't be used. Also the inventory that tells on a restart whether the sources are still
// the same.
//
//   SOURCE -> source_files -> layouts (captions) -> pairing -> IngestPlan     a folder, a table, an archive
//   SOURCE -> dataset_toml -> the same for each of its folders -> IngestPlan  a data set's TOML
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "video/media/decode.h"
#include "video/sources/frame_folders.h"
#include "video/sources/layouts.h"
#include "video/sources/pairing_report.h"

namespace zoetrope {

/// What becomes of clips without a caption.
enum class MissingCaption { kError, kSkip, kEmpty, kFilename };
/// From "error", "skip", "empty", "filename". Throws: UsageError.
MissingCaption missing_caption_of(const std::string& name);

/// How SOURCE is read.
struct IngestPlanOptions {
  MissingCaption missing = MissingCaption::kError;
  std::optional<Layout> layout;  ///< captions come from this one alone
  CaptionRules captions;
  bool each_alternative = false;  ///< a clip for each of several captions, else the first is taken
  PictureFolders picture_folders = PictureFolders::kAuto;
  double picture_fps = 0;  ///< of folders of pictures, 0: as their table says
  double fps = 8;          ///< of the data set; what a TOML's frame counts are in
};

/// All of it that isn't as usual, as one word for the rules of a data set: "table each"; empty otherwise.
std::string reading_text(const IngestPlanOptions& options);

/// One clip: a whole file or a part of one.
struct PlannedClip {
  std::string name;  ///< in the data set; "#0", "#1" added when a file gives several
  std::string caption;
  Window window;
  bool has_window = false;
  std::string refused;   ///< reason, known without decoding
  bool skipped = false;  ///< refused because the user asked for it
  std::string layout;    ///< what the caption was read as: "sidecar", "table", ...; empty without one
  std::string from;      ///< "walk.txt", "metadata.csv line 3"
  int64_t repeats = 1;   ///< how often it counts in an epoch
};

/// Rules of a TOML's folder in place of the command's.
struct SourceRules {
  int64_t area = 0;  ///< pixels of a frame, 0: the command's
  std::optional<bool> upscale;
  int64_t most_frames = 0;  ///< 0: as --max-seconds says
};

/// One file with its clips.
struct PlannedSource {
  std::string path;  ///< below SOURCE, raw bytes; decides the order
  MediaLocation location;
  SourceRules rules;
  std::vector<PlannedClip> clips;
};

struct IngestPlan {
  std::vector<PlannedSource> sources;  ///< sorted by path
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  ///< how a TOML's keys were taken
  std::vector<std::string> roots;  ///< folders that are read
  int64_t ignored_files = 0;
  PairingReport pairing;
};

/// Reads SOURCE: a folder, a table of clips, a tar archive, or the data-set TOML of another trainer. Throws:
/// UsageError when it is none; Error that lists the candidates when it can be read in several ways, when no
/// clip has a caption though captions are there, and for what is wrong in tables.
IngestPlan plan_ingest(const std::string& source, const IngestPlanOptions& options);

/// A source as it was when an ingest began; kept beside the journal until the data set is sealed.
struct InventoryItem {
  std::string name;  ///< of a clip
  int64_t bytes = -1, modified_ns = 0;
  std::string caption_hash;  ///< of caption, window and what else is known without decoding
};
/// One item per clip, in order.
std::vector<InventoryItem> take_inventory(const IngestPlan& plan);
/// Writes and reads it, in a folder of a data set.
void write_inventory(const std::string& folder, const std::vector<InventoryItem>& items);
std::vector<InventoryItem> read_inventory(const std::string& folder);
/// Where it lies.
std::string inventory_path(const std::string& folder);

}  // namespace zoetrope
