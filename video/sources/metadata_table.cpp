#include "video/sources/metadata_table.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/check.h"
#include "core/shallow_json.h"
#include "video/sources/captions.h"
#include "video/sources/source_files.h"

namespace zoetrope {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

const Names kMediaColumns = {"video",     "video_path", "path",  "media_path",
                             "file_name", "file",       "image", "image_path"};
const Names kCaptionColumns = {"caption", "prompt", "text", "cap"};
const Names kAnsweredColumns = {"num_frames", "frames",       "height",    "width",
                                "duration",   "aspect_ratio", "resolution"};

bool is_in(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Ratio parse_seconds(const std::string& text, const std::string& where, const char* column, const char* what) {
  try {
    const Ratio seconds = seconds_of_text(text);
    if (!(seconds < Ratio{})) return seconds;
  } catch (const Error&) {}  // said below, with its place
  throw Error(join_message(where, ": ", column, " is '", text, "', expected ", what));
}

/// Fields of one row by name in lower case; captions may be several.
using Fields = std::map<std::string, Names>;

/// The column of a kind that holds something. Throws: Error when two hold different things.
const std::pair<const std::string, Names>* only_one(const Fields& fields, const Names& names,
                                                    const std::string& where, const char* kind) {
  const std::pair<const std::string, Names>* found = nullptr;
  for (const std::string& name : names) {
    const auto field = fields.find(name);
    if (field == fields.end() || (field->second.size() == 1 && field->second[0].empty())) continue;
    ZT_REQUIRE(found == nullptr || found->second == field->second, where, ": both '",
               found == nullptr ? "" : found->first, "' and '", name, "' name a ", kind,
               "; remove or rename one of the columns");
    found = &*field;
  }
  return found;
}

std::string caption_of_field(const std::string& text, const std::string& where) {
  try {
    return caption_from_text(text);
  } catch (const Error& error) { throw Error(join_message(where, ": ", error.what())); }
}

MetadataRow make_row(const Fields& fields, const std::string& where) {
  MetadataRow row;
  row.where = where;
  const auto* media = only_one(fields, kMediaColumns, where, "media file");
  ZT_REQUIRE(
      media != nullptr, where,
      ": no media path; expected one of the columns video, video_path, path, media_path, file_name, file, ",
      "image, image_path");
  ZT_REQUIRE(media->second.size() == 1, where, ": '", media->first, "' is a list, expected one path");
  row.media = media->second[0];
  if (const auto* captions = only_one(fields, kCaptionColumns, where, "caption"))
    for (const std::string& text : captions->second) row.captions.push_back(caption_of_field(text, where));
  const auto number = [&](const char* name, const char* what) -> std::optional<Ratio> {
    const auto found = fields.find(name);
    if (found == fields.end() || found->second.empty() || found->second[0].empty()) return {};
    return parse_seconds(found->second[0], where, name, what);
  };
  row.start = number("start", "seconds");
  row.end = number("end", "seconds");
  row.fps = number("fps", "frames per second").value_or(Ratio{}).value();
  const Ratio from = row.start.value_or(Ratio{}), to = row.end.value_or(Ratio{});
  ZT_REQUIRE(!row.end || from < to, where, ": the end ", to.value(), " s is not after the start ",
             from.value(), " s");
  return row;
}

bool is_used(const std::string& column) {
  return is_in(kMediaColumns, column) || is_in(kCaptionColumns, column) || column == "start" ||
         column == "end" || column == "fps";
}

/// Collects the names of columns that aren't used, once each.
class ColumnNotes {
 public:
  void see(const std::string& column) {
    if (is_used(column) || !seen_.insert(column).second) return;
    (is_in(kAnsweredColumns, column) ? answered_ : unknown_).push_back(column);
  }
  void give(MetadataTable& table) {
    table.unknown = std::move(unknown_);
    table.answered = std::move(answered_);
  }

 private:
  std::set<std::string> seen_;
  Names unknown_, answered_;
};

bool has_media_column(const Names& header) {
  return std::any_of(header.begin(), header.end(),
                     [](const std::string& column) { return is_in(kMediaColumns, lower_case(column)); });
}

/// Whether the first line is the header of a table of media.
bool is_media_csv(const std::string& text, const std::string& name) {
  try {
    const auto first = parse_csv(text.substr(0, text.find('\n')), name);
    return !first.empty() && has_media_column(first[0].fields);
  } catch (const Error&) { return false; }
}

std::optional<MetadataTable> read_csv(const std::string& text, const std::string& name, bool must_be) {
  if (!must_be && !is_media_csv(text, name)) return {};
  const std::vector<CsvRecord> records = parse_csv(text, name);
  Names header;
  if (!records.empty()) header = records[0].fields;
  for (std::string& column : header) column = lower_case(column);
  MetadataTable table;
  ColumnNotes notes;
  for (size_t column = 0; column < header.size(); ++column) {
    ZT_REQUIRE(std::count(header.begin(), header.end(), header[column]) == 1, "'", name,
               "' line 1: two columns are called '", records[0].fields[column], "'");
    notes.see(header[column]);
  }
  for (size_t i = 1; i < records.size(); ++i) {
    const std::string where = join_message("'", name, "' line ", records[i].line);
    ZT_REQUIRE(records[i].fields.size() == header.size(), where, ": ", records[i].fields.size(),
               " fields, the header has ", header.size());
    Fields fields;
    for (size_t column = 0; column < header.size(); ++column)
      fields[header[column]] = {records[i].fields[column]};
    table.rows.push_back(make_row(fields, where));
  }
  notes.give(table);
  return table;
}

std::string text_of(const Json& value, const std::string& where, const std::string& key) {
  ZT_REQUIRE(value.is_string() || value.is_number(), where, ": '", key, "' is neither text nor a number");
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Names texts_of(const Json& value, const std::string& where, const std::string& key) {
  if (!value.is_array()) return {text_of(value, where, key)};
  Names texts;
  for (const Json& each : value) texts.push_back(text_of(each, where, key));
  return texts;
}

MetadataRow row_of_object(const Json& object, const std::string& where, ColumnNotes& notes) {
  ZT_REQUIRE(object.is_object(), where, ": not a JSON object");
  Fields fields;
  for (const auto& [key, value] : object.items()) {
    const std::string column = lower_case(key);
    notes.see(column);
    if (!is_used(column) || value.is_null()) continue;
    const bool is_new = fields.emplace(column, texts_of(value, where, key)).second;
    ZT_REQUIRE(is_new, where, ": two fields are called '", key, "'");
  }
  return make_row(fields, where);
}

bool names_media(const Json& object) {
  if (!object.is_object()) return false;
  for (const auto& [key, value] : object.items())
    if (is_in(kMediaColumns, lower_case(key))) return true;
  return false;
}

std::optional<MetadataTable> read_json_lines(const std::string& text, const std::string& name, bool must_be) {
  MetadataTable table;
  ColumnNotes notes;
  int64_t number = 0;
  for (const std::string& line : lines_of(text)) {
    const std::string where = join_message("'", name, "' line ", ++number);
    if (cut_blanks(line).empty()) continue;
    require_shallow_json(line, where);
    const Json json = Json::parse(line, nullptr, false);
    if (!must_be && table.rows.empty() && !names_media(json)) return {};
    ZT_REQUIRE(json.is_object(), where, ": not a JSON object");
    table.rows.push_back(row_of_object(json, where, notes));
  }
  notes.give(table);
  return table;
}

/// {"file.mp4": ["caption", ...]}, or text in place of the list.
bool maps_files_to_captions(const Json& json) {
  if (!json.is_object() || json.empty()) return false;
  bool any_media = false;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_array() && !value.is_string()) return false;
    any_media = any_media || has_media_name(key);
  }
  return any_media;
}

std::optional<MetadataTable> read_json(const std::string& text, const std::string& name, bool must_be) {
  require_shallow_json(text, "'" + name + "'");
  const Json json = Json::parse(text, nullptr, false);
  MetadataTable table;
  ColumnNotes notes;
  if (json.is_array() && (must_be || (!json.empty() && names_media(json[0])))) {
    int64_t number = 0;
    for (const Json& row : json)
      table.rows.push_back(row_of_object(row, join_message("'", name, "' entry ", ++number), notes));
  } else if (maps_files_to_captions(json)) {
    for (const auto& [key, value] : json.items()) {
      const std::string where = join_message("'", name, "' entry '", key, "'");
      table.rows.push_back(make_row({{"file", {key}}, {"caption", texts_of(value, where, key)}}, where));
    }
  } else if (names_media(json)) {
    table.rows.push_back(row_of_object(json, join_message("'", name, "'"), notes));
  } else {
    ZT_REQUIRE(!must_be, "'", name, "'", json.is_discarded() ? " is not JSON" : "",
               ": expected a list of objects with a media path and a caption, or an object from file name to "
               "captions");
    return {};
  }
  notes.give(table);
  return table;
}

}  // namespace

std::optional<MetadataTable> read_metadata_table(const std::string& text, const std::string& name,
                                                 bool must_be) {
  const std::string ending = extension_of(name);
  if (ending == ".csv") return read_csv(text, name, must_be);
  return ending == ".json" ? read_json(text, name, must_be) : read_json_lines(text, name, must_be);
}

std::optional<std::vector<std::string>> read_caption_json(const std::string& text) {
  require_shallow_json(text, "its caption file");
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  Fields fields;
  for (const auto& [key, value] : json.items())
    if (is_in(kCaptionColumns, lower_case(key)) && !value.is_null())
      fields[lower_case(key)] = texts_of(value, "its caption file", key);
  if (fields.empty()) return {};
  const auto* found = only_one(fields, kCaptionColumns, "its caption file", "caption");
  Names captions;
  if (found != nullptr)
    for (const std::string& each : found->second) captions.push_back(caption_from_text(each));
  return captions;
}

}  // namespace zoetrope
