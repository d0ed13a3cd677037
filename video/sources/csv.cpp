// CSV as spreadsheets and scripts write it.
#include "core/check.h"
#include "video/sources/captions.h"

namespace zoetrope {

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

}  // namespace zoetrope
