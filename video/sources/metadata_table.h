// Metadata tables as data sets bring them: CSV, JSON lines, JSON lists, and objects from file name to
// captions. Used by video/sources/layout_tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "video/media/ratio.h"

namespace zoetrope {

/// One row of a metadata table.
struct MetadataRow {
  std::string where;                  ///< "metadata.csv line 3"
  std::string media;                  ///< path as written
  std::vector<std::string> captions;  ///< several are alternatives; none when there is no caption column
  std::optional<Ratio> start, end;    ///< seconds
  double fps = 0;                     ///< as the table says, 0 when it doesn't; for folders of pictures
};

/// All rows, and the columns that were not used: `unknown` mean nothing to us, `answered` are said by the
/// files themselves (fps, frames, size, duration).
struct MetadataTable {
  std::vector<MetadataRow> rows;
  std::vector<std::string> unknown, answered;
};

/// Reads a table; columns by their usual names in any case: media video, video_path, path, media_path,
/// file_name, file, image, image_path; caption caption, prompt, text, cap; start, end, fps. `must_be` false:
/// nothing when the content isn't a table of media (another kind of CSV or JSON).
/// Throws: Error naming `name` and the line, also for two media or two caption columns that differ.
std::optional<MetadataTable> read_metadata_table(const std::string& text, const std::string& name,
                                                 bool must_be);
/// The captions of a JSON object with a caption field (clip.json beside clip.mp4); nothing when it is none.
std::optional<std::vector<std::string>> read_caption_json(const std::string& text);

}  // namespace zoetrope
