// How clips and captions found each other: counts for the summary and for pairing.json. Made by
// video/sources/pairing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace zoetrope {

struct PairingReport {
  int64_t clips = 0;
  int64_t with_caption = 0;
  int64_t without_caption = 0;             ///< no caption file, line or row at all
  int64_t empty = 0;                       ///< there is one, and it holds nothing
  int64_t unreadable = 0;                  ///< encoding, pipes, two that differ
  int64_t by_case = 0;                     ///< stems that differ in upper and lower case alone
  int64_t with_alternatives = 0;           ///< several captions
  int64_t several_lines = 0;               ///< caption files of several lines that were read as one caption
  std::map<std::string, int64_t> layouts;  ///< clips whose caption was read as "sidecar", "table", ...
  std::vector<std::string> unmatched;      ///< caption files that belong to no clip
  std::vector<std::string> shared;         ///< caption files of several media
  int64_t repeated_captions = 0;           ///< different captions that several clips have
  int64_t clips_with_repeated_caption = 0;
  std::string most_repeated;  ///< the caption that most clips have
  int64_t most_repeated_clips = 0;

  /// Adds the counts of another part of the sources, which must have no clip in common. Captions repeated
  /// between both are not seen.
  void add(const PairingReport& other);
};

/// A few lines for the summary.
std::string pairing_text(const PairingReport& report);
/// One JSON object on several lines.
std::string pairing_json(const PairingReport& report);
/// The beginning of a text, at most so many bytes, not cut within a character.
std::string shortened(const std::string& text, size_t most);
/// "a, b, c and 7 more", each as a line can hold it.
std::string name_list(const std::vector<std::string>& names);

}  // namespace zoetrope
