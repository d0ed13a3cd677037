#include "video/sources/tar_index.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>

#include "core/check.h"
#include "core/files.h"

namespace zoetrope {
namespace {

constexpr int64_t kBlock = 512;
constexpr int64_t kMostExtra = 1 << 20;  // of a long name or of pax records; far more than any has

using Block = std::array<char, kBlock>;

/// A field of a header up to its first zero byte.
std::string text_field(const Block& block, size_t at, size_t length) {
  return std::string(&block[at], strnlen(&block[at], length));
}

/// Octal digits, or big-endian binary when the first bit is set; -1 when it is neither.
int64_t number_field(const Block& block, size_t at, size_t length) {
  int64_t value = 0;
  if ((uint8_t(block[at]) & 0x80) != 0) {
    for (size_t i = 1; i < length; ++i) {
      if (value > (INT64_MAX >> 8)) return -1;
      value = value << 8 | uint8_t(block[at + i]);
    }
    return (uint8_t(block[at]) & 0x7f) == 0 ? value : -1;
  }
  for (char c : text_field(block, at, length)) {
    if (c == ' ') continue;
    if (c < '0' || c > '7' || value > (INT64_MAX >> 3)) return -1;
    value = value << 3 | (c - '0');
  }
  return value;
}

bool is_zero(const Block& block) {
  for (char c : block)
    if (c != 0) return false;
  return true;
}

bool checksum_is_right(const Block& block) {
  int64_t sum = 0, signed_sum = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const char c = i >= 148 && i < 156 ? ' ' : block[i];
    sum += uint8_t(c);
    signed_sum += static_cast<signed char>(c);
  }
  const int64_t stored = number_field(block, 148, 8);
  return stored == sum || stored == signed_sum;
}

/// "12 path=a/b\n": length, key, value.
std::map<std::string, std::string> parse_pax(const std::string& text) {
  std::map<std::string, std::string> records;
  for (size_t at = 0; at < text.size();) {
    size_t digits = at, length = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && length < text.size())
      length = length * 10 + size_t(text[digits++] - '0');
    const size_t equals = text.find('=', digits);
    const bool good = digits < text.size() && text[digits] == ' ' && length <= text.size() - at &&
                      equals != std::string::npos && equals < at + length && text[at + length - 1] == '\n';
    if (!good && text.find_first_not_of('\0', at) == std::string::npos) break;
    ZT_REQUIRE(good, "the archive is damaged: its pax records");
    records[text.substr(digits + 1, equals - digits - 1)] = text.substr(equals + 1, at + length - equals - 2);
    at += length;
  }
  return records;
}

std::string kind_of_compression(const Block& block) {
  const std::string start(block.data(), 6);
  if (start.starts_with("\x1f\x8b")) return "gzip";
  if (start.starts_with("BZh")) return "bzip2";
  if (start.starts_with("\xfd"
                        "7zXZ"))
    return "xz";
  return start.starts_with("\x28\xb5\x2f\xfd") ? "zstd" : "";
}

class Reader {
 public:
  explicit Reader(const std::string& path)
      : file_(path, OpenFile::Mode::kRead), end_(int64_t(file_.size())) {}

  TarIndex read() {
    try {
      read_headers();
    } catch (const Error& error) { index_.problem = error.what(); }
    return std::move(index_);
  }

 private:
  void read_headers() {
    Block block{};
    file_.read_at(block.data(), size_t(std::min(kBlock, end_)), 0);
    const std::string compressed = kind_of_compression(block);
    ZT_REQUIRE(compressed.empty(), "an archive compressed with ", compressed,
               ", expected a plain one, which is read in place; uncompress it");
    for (int64_t at = 0; at + kBlock <= end_;) {
      file_.read_at(block.data(), size_t(kBlock), uint64_t(at));
      if (is_zero(block)) return;
      require_header(block, at);
      at = take(block, at + kBlock);
    }
    throw Error("the archive is cut off: the empty block that ends it is missing");
  }

  void require_header(const Block& block, int64_t at) const {
    ZT_REQUIRE(checksum_is_right(block) || at > 0, "not a tar archive");
    ZT_REQUIRE(checksum_is_right(block), "the archive is damaged: no header at byte ", at);
  }

  /// Takes a member whose content begins at `at`; returns where the next header is.
  int64_t take(const Block& block, int64_t at) {
    const char type = block[156];
    int64_t size = number_field(block, 124, 12);
    if (type != 'x' && type != 'g' && pax_.count("size") > 0) size = std::atoll(pax_["size"].c_str());
    ZT_REQUIRE(size >= 0 && size <= (INT64_MAX >> 1) - at, "the archive is damaged: a size at byte ",
               at - kBlock);
    const bool is_extra = type == 'L' || type == 'K' || type == 'x' || type == 'g';
    if (is_extra) take_extra(type, at, size);
    else take_member(block, type, at, size);
    const bool has_content = is_extra || type == '0' || type == 0 || type == '7' || type == 'S';
    return at + (has_content ? (size + kBlock - 1) / kBlock * kBlock : 0);
  }

  void take_extra(char type, int64_t at, int64_t size) {
    ZT_REQUIRE(size <= kMostExtra && at + size <= end_, "the archive is damaged: a name of ", size, " bytes");
    std::string text(size_t(size), '\0');
    file_.read_at(text.data(), text.size(), uint64_t(at));
    if (type == 'L') long_name_ = text.substr(0, text.find('\0'));
    else if (type == 'x') pax_ = parse_pax(text);
  }

  void take_member(const Block& block, char type, int64_t at, int64_t size) {
    TarMember member{text_field(block, 0, 100), at, size, ""};
    const std::string prefix = text_field(block, 345, 155);
    if (text_field(block, 257, 5) == "ustar" && block[262] == 0 && !prefix.empty())
      member.name = prefix + "/" + member.name;
    if (!long_name_.empty()) member.name = long_name_;
    if (pax_.count("path") > 0) member.name = pax_["path"];
    const bool is_sparse =
        type == 'S' || pax_.count("GNU.sparse.major") > 0 || pax_.count("GNU.sparse.map") > 0;
    long_name_.clear();
    pax_.clear();
    while (member.name.starts_with("./")) member.name = member.name.substr(2);
    const bool is_file = type == '0' || type == 0 || type == '7' || type == 'S';
    const bool is_link = type == '1' || type == '2';
    if ((!is_file && !is_link) || member.name.empty() || member.name.ends_with("/")) return;
    if (is_link) member.refused = "a link in an archive; store the file itself";
    else if (is_sparse) member.refused = "stored with holes (sparse); archive it without --sparse";
    else if (at + size > end_) member.refused = "cut off by the end of the archive";
    if (!member.refused.empty()) member.size = 0;
    const auto [known, is_new] = known_.emplace(member.name, index_.members.size());
    if (is_new) index_.members.push_back(std::move(member));
    else index_.members[known->second] = std::move(member);
  }

  OpenFile file_;
  int64_t end_;
  TarIndex index_;
  std::map<std::string, size_t> known_;
  std::string long_name_;
  std::map<std::string, std::string> pax_;
};

}  // namespace

TarIndex read_tar_index(const std::string& path) { return Reader(path).read(); }

}  // namespace zoetrope
