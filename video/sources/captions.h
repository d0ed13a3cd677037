// Caption texts and metadata tables as users have them on disk: UTF-8 or UTF-16 text files, JSON lines, CSV.
// Used by video/sources/ingest_plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "video/media/ratio.h"

namespace zoetrope {

/// A caption from the bytes of a text file: byte-order mark and CR LF dealt with, UTF-16 converted, white
/// space at both ends cut, line breaks turned into blanks. Throws: Error (a reason to refuse the clip) for
/// text that is neither UTF-8 nor marked UTF-16.
std::string caption_from_bytes(const std::string& bytes);

/// One row of a metadata table.
struct MetadataRow {
  int64_t line = 0;   ///< in the table's file, from 1
  std::string media;  ///< path as written
  std::optional<std::string> caption;
  std::optional<Ratio> start, end;  ///< seconds
};

/// Rows of a JSON-lines table. Columns by their usual names: media video, video_path, path, media_path,
/// file_name, file, image, image_path; caption caption, prompt, text, cap; start, end. Others are ignored.
/// Throws: Error naming `name` and the line.
std::vector<MetadataRow> read_metadata_jsonl(const std::string& text, const std::string& name);
/// Rows of a CSV table with a header line (RFC 4180; blanks around fields are cut). Same columns and errors.
std::vector<MetadataRow> read_metadata_csv(const std::string& text, const std::string& name);

/// Fields of a CSV text, record by record, with the line each record starts at.
struct CsvRecord {
  int64_t line = 0;
  std::vector<std::string> fields;
};
/// Throws: Error naming `name` and the line.
std::vector<CsvRecord> parse_csv(const std::string& text, const std::string& name);

}  // namespace zoetrope
