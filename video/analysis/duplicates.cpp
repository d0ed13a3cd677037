#include "video/analysis/duplicates.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace zoetrope {
namespace {

constexpr int kMostBits = 31;           // of 256, PDQ's threshold
constexpr double kLeastMatched = 0.80;  // vPDQ's default share
constexpr int kPieces = 16, kPieceBits = 16;
constexpr const char* kNames[] = {"off", "report", "drop"};

uint32_t piece(const FrameHash& hash, int i) {
  return uint32_t(hash.bits[size_t(i / 4)] >> (i % 4 * kPieceBits) & 0xffff);
}
uint32_t piece_key(int place, uint32_t value) { return uint32_t(place) << kPieceBits | value; }

/// Share of the hashes of `a` that have a match among those of `b`.
double share_matched(const std::vector<FrameHash>& a, const std::vector<FrameHash>& b) {
  const auto matches = [&](const FrameHash& hash) {
    return std::any_of(b.begin(), b.end(),
                       [&](const FrameHash& other) { return hamming_distance(hash, other) <= kMostBits; });
  };
  return double(std::count_if(a.begin(), a.end(), matches)) / double(a.size());
}

/// Bytes and part of a file.
std::string file_key(const ManifestEntry& entry) {
  const ClipAnalysis& analysis = entry.analysis;
  if (entry.source_hash.empty()) return "";
  return join_message(entry.source_hash, ' ', entry.source_bytes, ' ', std::to_string(analysis.window_start),
                      ' ', std::to_string(analysis.window_end));
}

}  // namespace

DuplicatePolicy duplicate_policy_of(const std::string& name) {
  for (int i = 0; i < 3; ++i)
    if (name == kNames[i]) return DuplicatePolicy(i);
  throw UsageError(join_message("--duplicates '", name, "': expected report, drop or off"));
}

const char* name_of(DuplicatePolicy policy) { return kNames[int(policy)]; }

void DuplicateIndex::decide(ManifestEntry& entry) {
  entry.analysis.duplicate = {};
  if (!entry.has_sample()) return;
  std::vector<FrameHash> hashes;
  for (const std::string& text : entry.analysis.frame_hashes) hashes.push_back(hash_of_text(text));
  entry.analysis.duplicate = find_exact(entry);
  if (entry.analysis.duplicate.name.empty() && !hashes.empty())
    entry.analysis.duplicate = find_near(entry.source_hash, hashes);
  if (entry.analysis.duplicate.name.empty()) remember(entry, std::move(hashes));
}

DuplicateOf DuplicateIndex::find_exact(const ManifestEntry& entry) const {
  const auto same_file = by_file_.find(file_key(entry));
  if (same_file != by_file_.end()) return {clips_[same_file->second].name, "file", 1};
  const auto same_frames = by_frames_.find(entry.analysis.frames_hash);
  // Two black clips of one size and length have the same frames, which says nothing.
  if (same_frames != by_frames_.end() && !entry.analysis.frame_hashes.empty())
    return {clips_[same_frames->second].name, "frames", 1};
  return {};
}

/// Hashes within 31 bits of this one: of their 16 pieces at least one differs in at most one bit.
std::vector<uint32_t> DuplicateIndex::clips_like(const FrameHash& hash) const {
  std::vector<uint32_t> found;
  const auto look_up = [&](int place, uint32_t value) {
    const auto bucket = by_piece_.find(piece_key(place, value));
    if (bucket == by_piece_.end()) return;
    for (const uint32_t other : bucket->second)
      if (hamming_distance(hash, hashes_[other].hash) <= kMostBits) found.push_back(hashes_[other].clip);
  };
  for (int place = 0; place < kPieces; ++place) {
    const uint32_t value = piece(hash, place);
    look_up(place, value);
    for (int bit = 0; bit < kPieceBits; ++bit) look_up(place, value ^ uint32_t(1) << bit);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

DuplicateOf DuplicateIndex::find_near(const std::string& source_hash,
                                      const std::vector<FrameHash>& hashes) const {
  std::map<uint32_t, int64_t> matched;  // in path order
  for (const FrameHash& hash : hashes)
    for (const uint32_t clip : clips_like(hash)) ++matched[clip];
  for (const auto& [clip, count] : matched) {
    const KnownClip& known = clips_[clip];
    const double mine = double(count) / double(hashes.size());
    if (mine < kLeastMatched || known.source_hash == source_hash) continue;
    const double its = share_matched(known.hashes, hashes);
    if (its >= kLeastMatched) return {known.name, "near", std::round(std::min(mine, its) * 1e4) / 1e4};
  }
  return {};
}

void DuplicateIndex::remember(const ManifestEntry& entry, std::vector<FrameHash> hashes) {
  const auto clip = uint32_t(clips_.size());
  const std::string key = file_key(entry);
  if (!key.empty()) by_file_.emplace(key, clip);
  if (!entry.analysis.frames_hash.empty()) by_frames_.emplace(entry.analysis.frames_hash, clip);
  for (const FrameHash& hash : hashes) {
    const auto number = uint32_t(hashes_.size());
    hashes_.push_back({hash, clip});
    for (int place = 0; place < kPieces; ++place)
      by_piece_[piece_key(place, piece(hash, place))].push_back(number);
  }
  clips_.push_back({entry.name, entry.source_hash, std::move(hashes)});
}

}  // namespace zoetrope
