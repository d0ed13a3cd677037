#include "video/store/part.h"

#include <algorithm>
#include <charconv>

#include "core/check.h"
#include "core/files.h"

namespace zoetrope {
namespace {

// To open a file costs about as much as to decode this many bytes of it, so that many pictures of a few bytes
// are no smaller share than a film.
constexpr int64_t kBytesToOpen = 64 << 10;

}  // namespace

PartNumber parse_part(const std::string& text) {
  const size_t slash = text.find('/');
  PartNumber part;
  const auto read = [](std::string_view digits, int64_t& value) {
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return result.ec == std::errc() && result.ptr == digits.data() + digits.size();
  };
  constexpr int64_t kMost = 1 << 20;
  const bool good = slash != std::string::npos && read(text.substr(0, slash), part.index) &&
                    read(text.substr(slash + 1), part.count) && part.index >= 1 && part.index <= part.count &&
                    part.count <= kMost;
  if (!good)
    throw UsageError(join_message("--part '", text,
                                  "': expected I/N with I from 1 to N, like 2/4 for the second of "
                                  "four parts"));
  return part;
}

std::string part_text(const PartNumber& part) { return join_message(part.index, "/", part.count); }

Slice slice_of_part(const std::vector<int64_t>& bytes, const PartNumber& part) {
  double total = 0;
  for (int64_t each : bytes) total += double(std::max<int64_t>(0, each) + kBytesToOpen);
  // A file belongs to the part that its middle falls into. Sums of whole numbers below 2^53 are exact, so the
  // slices of all parts fit together.
  const auto begin_of = [&](int64_t index) {
    const double wanted = total * double(index) / double(part.count);
    double before = 0;
    size_t file = 0;
    for (; file < bytes.size(); ++file) {
      const double weight = double(std::max<int64_t>(0, bytes[file]) + kBytesToOpen);
      if (before + weight / 2 >= wanted) break;
      before += weight;
    }
    return file;
  };
  return {begin_of(part.index - 1), part.index == part.count ? bytes.size() : begin_of(part.index)};
}

void SourcesHash::add(const std::string& name, int64_t bytes, const std::string& caption_hash) {
  // A name holds no line break.
  hash_.add(join_message(name, "\n", bytes, "\n", caption_hash, "\n"));
}

std::string SourcesHash::text() const { return hex64(hash_.value()); }

}  // namespace zoetrope
