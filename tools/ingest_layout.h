// The options of `zoetrope ingest` that say how SOURCE is read, and --explain, which shows how.
#pragma once

#include <string>
#include <vector>

#include "video/ingest/ingest.h"

namespace zoetrope {

struct LayoutFlags {
  std::string missing_caption = "error", layout = "auto", caption_lines = "join", alternatives = "first",
              picture_folders = "auto";
  double picture_fps = 0;

  void visit(auto&& field) {
    using Choices = std::vector<std::string>;
    field("missing-caption", missing_caption,
          "a clip without a caption: 'error' refuses it (exit code 1), 'skip' leaves it out, 'empty' and "
          "'filename' keep it",
          Choices{"error", "skip", "empty", "filename"});
    field("layout", layout,
          "where captions come from: files beside clips, metas/ beside videos/, prompts.txt with videos.txt, "
          "or tables; 'auto' reads all, and is an error where they differ",
          Choices{"auto", "sidecar", "split", "lists", "table"});
    field("caption-lines", caption_lines,
          "a caption file of several lines: 'join' reads one caption, 'split' alternatives",
          Choices{"join", "split"});
    field("alternatives", alternatives,
          "several captions of one clip: 'first' takes the first, 'each' makes a clip for each",
          Choices{"first", "each"});
    field("picture-folders", picture_folders,
          "folders of numbered pictures: 'clip' makes one clip of each, 'pictures' one clip per picture; "
          "'auto' "
          "goes by what has captions",
          Choices{"auto", "clip", "pictures"});
    field("picture-fps", picture_fps,
          "frames per second of folders of pictures; 0: column fps of their table");
  }
  /// Throws: UsageError naming the option.
  IngestPlanOptions options() const;
};

/// Prints how each clip will be read, and decodes nothing. Returns the exit code.
int explain_ingest(const IngestRequest& request, bool json);
/// The pairing report and what a TOML's keys came to, as lines after the summary.
std::string reading_text_of(const IngestResult& result);

}  // namespace zoetrope
