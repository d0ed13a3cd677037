#include "video/sources/captions.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "video/store/manifest.h"

namespace zoetrope {
namespace {

using Json = nlohmann::json;

constexpr const char* kMediaColumns[] = {"video",     "video_path", "path",  "media_path",
                                         "file_name", "file",       "image", "image_path"};
constexpr const char* kCaptionColumns[] = {"caption", "prompt", "text", "cap"};

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += char(code);
  } else if (code < 0x800) {
    out += {char(0xc0 | code >> 6), char(0x80 | (code & 63))};
  } else if (code < 0x10000) {
    out += {char(0xe0 | code >> 12), char(0x80 | (code >> 6 & 63)), char(0x80 | (code & 63))};
  } else {
    out += {char(0xf0 | code >> 18), char(0x80 | (code >> 12 & 63)), char(0x80 | (code >> 6 & 63)),
            char(0x80 | (code & 63))};
  }
}

std::string from_utf16(const std::string& bytes, bool big_endian) {
  const auto unit = [&](size_t at) {
    const uint32_t a = uint8_t(bytes[at]), b = uint8_t(bytes[at + 1]);
    return big_endian ? a << 8 | b : b << 8 | a;
  };
  std::string out;
  for (size_t at = 2; at + 1 < bytes.size(); at += 2) {
    uint32_t code = unit(at);
    if (code >= 0xd800 && code < 0xdc00 && at + 3 < bytes.size() && (unit(at + 2) & 0xfc00) == 0xdc00) {
      code = 0x10000 + ((code - 0xd800) << 10) + (unit(at + 2) - 0xdc00);
      at += 2;
    }
    ZT_REQUIRE(code < 0xd800 || code > 0xdfff, "the caption is broken UTF-16; save it as UTF-8");
    append_utf8(out, code);
  }
  ZT_REQUIRE(bytes.size() % 2 == 0, "the caption is broken UTF-16 (odd number of bytes); save it as UTF-8");
  return out;
}

std::string cut_blanks(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Without a UTF-8 byte-order mark.
std::string without_mark(const std::string& text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

std::string lower_case(std::string text) {
  for (char& c : text) c = char(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return text;
}

Ratio parse_seconds(const std::string& text, const std::string& where, const char* column) {
  try {
    const Ratio seconds = seconds_of_text(text);
    if (!(seconds < Ratio{})) return seconds;
  } catch (const Error&) {}  // said below, with its place
  throw Error(join_message(where, ": ", column, " is '", text, "', expected seconds"));
}

std::string caption_of_cell(const std::string& cell, const std::string& where) {
  try {
    return caption_from_bytes(cell);
  } catch (const Error& error) { throw Error(join_message(where, ": ", error.what())); }
}

/// A row from its columns by name.
MetadataRow make_row(const std::map<std::string, std::string>& columns, int64_t line,
                     const std::string& where) {
  MetadataRow row;
  row.line = line;
  for (const char* name : kMediaColumns)
    if (const auto found = columns.find(name); found != columns.end() && row.media.empty())
      row.media = found->second;
  ZT_REQUIRE(
      !row.media.empty(), where,
      ": no media path; expected one of the columns video, video_path, path, media_path, file_name, file, ",
      "image, image_path");
  for (const char* name : kCaptionColumns)
    if (const auto found = columns.find(name); found != columns.end() && !row.caption)
      row.caption = caption_of_cell(found->second, where);
  const auto start = columns.find("start"), end = columns.find("end");
  if (start != columns.end() && !start->second.empty())
    row.start = parse_seconds(start->second, where, "start");
  if (end != columns.end() && !end->second.empty()) row.end = parse_seconds(end->second, where, "end");
  const Ratio from = row.start.value_or(Ratio{}), to = row.end.value_or(Ratio{});
  ZT_REQUIRE(!row.end || from < to, where, ": the end ", to.value(), " s is not after the start ",
             from.value(), " s");
  return row;
}

}  // namespace

std::string caption_from_bytes(const std::string& bytes) {
  std::string text;
  if (bytes.starts_with("\xff\xfe")) text = from_utf16(bytes, false);
  else if (bytes.starts_with("\xfe\xff")) text = from_utf16(bytes, true);
  else text = without_mark(bytes);
  ZT_REQUIRE(text.find('\0') == std::string::npos,
             "the caption holds zero bytes (UTF-16 without a byte-order mark?); save it as UTF-8");
  ZT_REQUIRE(is_utf8(text), "the caption is not UTF-8; save it as UTF-8");
  std::string out;
  for (char c : cut_blanks(text)) {
    const bool line_break = c == '\r' || c == '\n';
    if (!line_break) out += c;
    else if (out.back() != ' ') out += ' ';
  }
  return out;
}

std::vector<CsvRecord> parse_csv(const std::string& text, const std::string& name) {
  std::vector<CsvRecord> records;
  CsvRecord record{1, {}};
  std::string field;
  bool quoted = false, was_quoted = false, any = false;
  int64_t line = 1;
  const auto end_field = [&] {
    record.fields.push_back(was_quoted ? field : cut_blanks(field));
    field.clear();
    was_quoted = false;
  };
  const auto end_record = [&] {
    end_field();
    if (any) records.push_back(record);
    record = {line + 1, {}};
    any = false;
  };
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool blank = c == ' ' || c == '\t' || c == '\r';
    if (quoted) {
      if (c != '"') field += c;
      else if (at + 1 < text.size() && text[at + 1] == '"') field += text[at++];
      else quoted = false;
    } else if (c == '"' && !was_quoted && cut_blanks(field).empty()) {
      field.clear();
      quoted = was_quoted = any = true;
    } else if (c == ',') {
      any = true;
      end_field();
    } else if (c == '\n') {
      end_record();
    } else if (!was_quoted) {
      field += c;
      any = any || !blank;
    } else {
      ZT_REQUIRE(blank, "'", name, "' line ", line, ": text after a closing quote");
    }
    if (c == '\n') ++line;
  }
  ZT_REQUIRE(!quoted, "'", name, "' line ", record.line, ": a quote is never closed");
  end_record();
  return records;
}

std::vector<MetadataRow> read_metadata_csv(const std::string& text, const std::string& name) {
  const std::vector<CsvRecord> records = parse_csv(without_mark(text), name);
  std::vector<MetadataRow> rows;
  for (size_t i = 1; i < records.size(); ++i) {
    const std::string where = join_message("'", name, "' line ", records[i].line);
    const auto& header = records[0].fields;
    ZT_REQUIRE(records[i].fields.size() == header.size(), where, ": ", records[i].fields.size(),
               " fields, the header has ", header.size());
    std::map<std::string, std::string> columns;
    for (size_t column = 0; column < header.size(); ++column) {
      const bool is_new = columns.emplace(lower_case(header[column]), records[i].fields[column]).second;
      ZT_REQUIRE(is_new, "'", name, "' line 1: two columns are called '", header[column], "'");
    }
    rows.push_back(make_row(columns, records[i].line, where));
  }
  return rows;
}

std::vector<MetadataRow> read_metadata_jsonl(const std::string& text, const std::string& name) {
  std::istringstream in(without_mark(text));
  std::vector<MetadataRow> rows;
  int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = join_message("'", name, "' line ", ++number);
    if (cut_blanks(line).empty()) continue;
    const Json json = Json::parse(line, nullptr, false);
    ZT_REQUIRE(json.is_object(), where, ": not a JSON object");
    std::map<std::string, std::string> columns;
    for (const auto& [key, value] : json.items()) {
      const std::string column = lower_case(key);
      const bool known =
          column == "start" || column == "end" ||
          std::find(std::begin(kMediaColumns), std::end(kMediaColumns), column) != std::end(kMediaColumns) ||
          std::find(std::begin(kCaptionColumns), std::end(kCaptionColumns), column) !=
              std::end(kCaptionColumns);
      if (!known || value.is_null()) continue;
      ZT_REQUIRE(value.is_string() || value.is_number(), where, ": '", key, "' is neither text nor a number");
      columns[column] = value.is_string() ? value.get<std::string>() : value.dump();
    }
    rows.push_back(make_row(columns, number, where));
  }
  return rows;
}

}  // namespace zoetrope
