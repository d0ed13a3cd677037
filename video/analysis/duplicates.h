// Which clips repeat an earlier one: the same file, the same frames, or pictures that look alike. Asked by
// the writer of a data set, clip by clip in path order, so that the answer depends on neither workers nor
// restarts.
//
// Note [near duplicates]: after vPDQ. A clip is a set of frame hashes, one a second, of frames with something
// to see. Two hashes match when at most 31 of 256 bits differ; two clips are alike when at least 80 % of the
// hashes of each have a match in the other. Clips without hashes (black, blank) are like none. Clips of one
// file are not compared: what it shows twice was cut from it on purpose.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "video/analysis/frame_hash.h"
#include "video/store/manifest.h"

namespace zoetrope {

/// What becomes of clips that repeat an earlier one.
enum class DuplicatePolicy { kOff, kReport, kDrop };
/// From "off", "report", "drop", and back. Throws: UsageError.
DuplicatePolicy duplicate_policy_of(const std::string& name);
const char* name_of(DuplicatePolicy policy);

/// The clips so far that repeat no other.
/// Cost: about 270 small look-ups per hash, however many clips there are, and some 150 bytes kept per hash.
class DuplicateIndex {
 public:
  /// Names the first clip that this one repeats, if any, in its line; or remembers it. Clips without a
  /// sample are neither compared nor remembered. Call it in path order, also for lines of an earlier run.
  void decide(ManifestEntry& entry);

 private:
  struct KnownClip {
    std::string name, source_hash;
    std::vector<FrameHash> hashes;
  };
  struct KnownHash {
    FrameHash hash;
    uint32_t clip = 0;
  };
  DuplicateOf find_exact(const ManifestEntry& entry) const;
  DuplicateOf find_near(const std::string& source_hash, const std::vector<FrameHash>& hashes) const;
  std::vector<uint32_t> clips_like(const FrameHash& hash) const;
  void remember(const ManifestEntry& entry, std::vector<FrameHash> hashes);

  std::vector<KnownClip> clips_;
  std::vector<KnownHash> hashes_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> by_piece_;  ///< place and value of 16 bits -> hashes_
  std::map<std::string, uint32_t> by_file_, by_frames_;
};

}  // namespace zoetrope
