// The lines of manifest.jsonl: what became of every source clip and why. Written by
// video/store/dataset_writer, read by video/store/dataset, ingest on restart, and inspect.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "video/store/manifest_scores.h"

namespace zoetrope {

constexpr double kUnknownSeconds = std::numeric_limits<double>::quiet_NaN();

/// What was found in a source file; -1, NaN and "" mean unknown.
struct SourceFacts {
  std::string container, codec;
  int64_t declared = -1;  ///< frames that the header promises
  int64_t packets = 0, decoded = 0, damaged = 0;
  int64_t presented = 0;     ///< decoded frames with a place on the timeline
  int64_t used = 0;          ///< different source frames in the data set
  int64_t interlaced = 0;    ///< decoded frames flagged as two fields
  int64_t jumps = 0;         ///< seeks over pictures that no window shows, and that were not decoded
  int64_t out_of_order = 0;  ///< times that went back, or not on; of two with one time the later is shown
  int64_t size_changes = 0, format_changes = 0;  ///< within the file
  int64_t width = 0, height = 0;                 ///< coded size
  int64_t shown_width = 0, shown_height = 0;     ///< after pixel aspect and rotation
  std::string pixel_aspect = "1:1";
  int rotation = 0;  ///< degrees clockwise
  bool mirrored = false;
  double average_fps = 0;
  std::string color_matrix, color_range, color_steps;
  bool color_guessed = false;  ///< the file didn't say; the rule of video/pixels/resize.h filled it in
  std::array<int64_t, 2>
      time_base{};  ///< seconds of a tick of the source's times as a fraction; 0, 0: unknown
  double first_seconds = kUnknownSeconds, last_seconds = kUnknownSeconds;  ///< of presented frames
  double stream_start = kUnknownSeconds, stream_duration = kUnknownSeconds;
  double container_start = kUnknownSeconds, container_duration = kUnknownSeconds;
  double audio_duration = kUnknownSeconds;
  double crop_loss = 0;  ///< share of the shown picture that the centre crop cuts away
};

/// One line: one source clip.
struct ManifestEntry {
  std::string name;
  std::string verdict;        ///< kept, trimmed, refused; undecided in the journal of an unfinished ingest
  std::string reason;         ///< what was cut, or why it was refused; several are joined by "; "
  bool found_damage = false;  ///< something was wrong with the file: ingest then ends with exit code 1
  bool skipped = false;       ///< refused at the user's wish: no reason for exit code 1
  int64_t repeats = 1;        ///< how often the sample counts in an epoch
  int64_t source_bytes = -1;
  std::string source_hash, caption_hash;
  int64_t modified_ns = 0;  ///< only in the journal of an unfinished ingest, never in manifest.jsonl
  bool has_facts = false;
  SourceFacts facts;
  std::string shard;  ///< empty when refused
  int64_t row = 0;    ///< sample's number in its shard
  int64_t num_frames = 0, height = 0, width = 0, num_tokens = 0;
  std::array<int64_t, 3> grid{};
  ClipAnalysis analysis;
  bool refused() const { return verdict == "refused"; }
  bool undecided() const { return verdict == "undecided"; }
  bool has_sample() const { return !refused() && !undecided(); }
};

/// A finished shard as dataset.json lists it.
struct ShardRecord {
  std::string file, hash;
  int64_t bytes = 0, samples = 0, tokens = 0;
};

/// One JSON line without its newline.
std::string manifest_line(const ManifestEntry& entry, bool with_clock = false);
/// Throws: Error that starts with `where` when the line isn't one.
ManifestEntry parse_manifest_line(const std::string& line, const std::string& where);
/// All lines of a manifest.jsonl.
std::vector<ManifestEntry> read_manifest(const std::string& path);

/// A name that JSON and a terminal line can hold: control characters and bytes that are not UTF-8 become
/// \xNN.
std::string printable_name(const std::string& bytes);
/// Whether a text is UTF-8 throughout.
bool is_utf8(const std::string& bytes);

}  // namespace zoetrope
