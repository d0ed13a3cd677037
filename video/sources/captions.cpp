#include "video/sources/captions.h"

#include <sstream>

#include "core/check.h"
#include "video/store/manifest.h"

namespace zoetrope {
namespace {

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

}  // namespace

std::string cut_blanks(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string lower_case(std::string text) {
  for (char& c : text) c = char(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

std::string text_from_bytes(const std::string& bytes) {
  if (bytes.starts_with("\xff\xfe")) return from_utf16(bytes, false);
  if (bytes.starts_with("\xfe\xff")) return from_utf16(bytes, true);
  return bytes.starts_with("\xef\xbb\xbf") ? bytes.substr(3) : bytes;
}

std::string caption_from_text(const std::string& text) {
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

std::string caption_from_bytes(const std::string& bytes) { return caption_from_text(text_from_bytes(bytes)); }

}  // namespace zoetrope
