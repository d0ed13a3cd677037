// A part of a data set that several machines make: which one it is, and from which sources all of them are.
// `zoetrope ingest --part i/n` makes one, `zoetrope merge` joins them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/content_hash.h"

namespace zoetrope {

/// Part `index` of `count`, from 1 on; a count of 0 means a whole data set.
struct PartNumber {
  int64_t index = 0, count = 0;
  bool is_part() const { return count > 0; }
  bool operator==(const PartNumber&) const = default;
};

/// From "2/4". Throws: UsageError.
PartNumber parse_part(const std::string& text);
/// "2/4".
std::string part_text(const PartNumber& part);

/// Files [begin, end) of a sorted list.
struct Slice {
  size_t begin = 0, end = 0;
};
/// The files of one part. Slices follow each other, cover the list, and hold about the same number of bytes;
/// they depend on the sizes of the files alone. `bytes` below 0: a file that isn't there.
Slice slice_of_part(const std::vector<int64_t>& bytes, const PartNumber& part);

/// Hash of what all parts must have in common: names, sizes and captions of all clips, in order.
class SourcesHash {
 public:
  /// Appends one clip.
  void add(const std::string& name, int64_t bytes, const std::string& caption_hash);
  std::string text() const;

 private:
  ContentHash hash_;
};

}  // namespace zoetrope
