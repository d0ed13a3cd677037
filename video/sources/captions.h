// Caption texts as users have them on disk: UTF-8 or UTF-16, with or without a byte-order mark. Used by the
// readers of video/sources.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// The bytes of a text file without byte-order mark, converted from UTF-16 if the mark says so. Whether it is
/// UTF-8 is not looked at, since a list may hold names that are not. Throws: Error for broken UTF-16.
std::string text_from_bytes(const std::string& bytes);
/// A caption from a text: white space at both ends cut, line breaks turned into blanks. Throws: Error (a
/// reason to refuse the clip) for text that is not UTF-8.
std::string caption_from_text(const std::string& text);
/// Both.
std::string caption_from_bytes(const std::string& bytes);

/// Lines without their ends (LF or CR LF); an end of line at the end of the text adds none.
std::vector<std::string> lines_of(const std::string& text);
/// Without white space at both ends.
std::string cut_blanks(const std::string& text);
/// ASCII letters in lower case.
std::string lower_case(std::string text);

/// Fields of a CSV text (RFC 4180; blanks around fields are cut), record by record, with the line each record
/// starts at.
struct CsvRecord {
  int64_t line = 0;
  std::vector<std::string> fields;
};
/// Throws: Error naming `name` and the line.
std::vector<CsvRecord> parse_csv(const std::string& text, const std::string& name);

}  // namespace zoetrope
