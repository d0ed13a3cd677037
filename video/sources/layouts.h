// The layouts that captions and parts of files are read from: one reader each, all of the same shape. What
// they offer is put together by video/sources/pairing.
//
// Note [pairing by stem]: a caption file belongs to the media of the same path without the last extension:
// a.b.c.txt to a.b.c.mp4, video.v1/0001.txt to video.v1/0001.mp4, data.tar/0001.txt to data.tar/0001.mp4. The
// final extension counts, not the first dot (as WebDataset's keys have it), so that names may hold dots.
// Stems that differ in upper and lower case alone belong together when there is no other candidate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "video/media/ratio.h"
#include "video/sources/source_files.h"

namespace zoetrope {

enum class Layout { kSidecar, kSplit, kLists, kTable };
constexpr Layout kAllLayouts[] = {Layout::kSidecar, Layout::kSplit, Layout::kLists, Layout::kTable};
/// "sidecar", "split", "lists", "table".
const char* name_of(Layout layout);

/// What one caption file, line or row says about one media file.
struct CaptionOffer {
  Layout layout = Layout::kSidecar;
  std::string media;                  ///< path below the root
  std::string from;                   ///< "walk.txt", "metadata.csv line 3"
  std::string file;                   ///< the file that it stands in
  std::vector<std::string> captions;  ///< several are alternatives; none when nothing is given
  std::string problem;                ///< why the caption can't be read
  std::optional<Ratio> start, end;    ///< part of the file
  double fps = 0;                     ///< of a folder of pictures, 0 when not said
  bool has_lines = false;             ///< a text of several lines
  bool by_case = false;               ///< the stem differs from the clip's in upper and lower case
};

/// What a reader found.
struct LayoutReading {
  std::vector<CaptionOffer> offers;
  std::vector<std::string> used;   ///< caption files and tables that it read
  std::vector<std::string> notes;  ///< for the user: columns that aren't used
};

/// How caption files are read.
struct CaptionRules {
  bool split_lines = false;  ///< each line of a caption file is an alternative
  std::string extension;     ///< only caption files that end so; empty: .txt, .caption and .json
};

/// clip.txt, clip.caption or clip.json (with a caption field) beside clip.mp4.
LayoutReading read_sidecars(const FoundFiles& files, const CaptionRules& rules);
/// videos/clip.mp4 with metas/clip.txt (or captions/, prompts/, texts/).
LayoutReading read_split_folders(const FoundFiles& files, const CaptionRules& rules);
/// prompts.txt and videos.txt, line by line. Throws: Error when they have different numbers of lines.
LayoutReading read_parallel_lists(const FoundFiles& files, const CaptionRules& rules);
/// Metadata tables. Throws: Error naming file and line of what is wrong.
LayoutReading read_tables(const FoundFiles& files, const CaptionRules& rules);

/// A caption file's captions, or why there are none.
struct CaptionText {
  std::vector<std::string> captions;
  std::string problem;
  bool has_lines = false;
  bool is_caption = true;  ///< false for a JSON file that holds something else
};
/// Reads a caption file by its extension.
CaptionText read_caption_file(const FoundFiles& files, const std::string& path, const CaptionRules& rules);
/// The media file that a table or list in `folder` means by `written`: beside it, in videos/ beside it,
/// below the root, or the member of an archive beside it; else the path beside it, whether it exists or not.
std::string resolve_media(const FoundFiles& files, const std::string& folder, const std::string& written);
/// "metadata.csv: columns not used: flow, score"; `answered`: by the files themselves.
std::string columns_note(const std::string& table, const std::vector<std::string>& columns, bool answered);
/// Whether there is such a media file, or a folder of pictures.
bool has_media(const FoundFiles& files, const std::string& path);

}  // namespace zoetrope
