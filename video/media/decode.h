// From a media file to clips at one constant rate: the frame shown at each time of the grid, by timestamps
// alone. The first step of ingest; `Clip` goes on to video/tokens.
//
// Note [shown at time t]: the grid starts at the first presented frame (plus a window's start). Grid point k
// shows the last frame whose timestamp is not after it; a frame lasts until the next one, the last one for
// its own duration. All comparisons are exact in integers. Counts and durations of headers decide nothing.
//
// Note [damage]: a file that decodes with errors gives its longest run of frames that come, in decoding
// order, from a key frame on and before the next error; the rest is cut and said.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "video/clip.h"
#include "video/media/frame_observer.h"
#include "video/media/limits.h"
#include "video/media/media_location.h"
#include "video/media/ratio.h"
#include "video/pixels/resize.h"
#include "video/store/manifest.h"

namespace zoetrope {

/// A part of a file, in seconds after its first presented frame: start <= t < end. Or, where num_frames is
/// positive, in frames: each presented frame is one frame of the clip, whatever its time, and of `keep` < 1
/// only every frame i for which floor(i * keep) is new counts.
struct Window {
  Ratio start{0, 1};
  Ratio end{1000000000, 1};  ///< longer than any file
  int64_t first_frame = 0, num_frames = 0;
  Ratio keep{1, 1};
  bool is_by_frames() const { return num_frames > 0; }
};

/// What decoding threads have done so far, for a progress line.
struct DecodeMeter {
  std::atomic<int64_t> frames{0}, packet_bytes{0};
};

/// How files are sampled.
struct DecodeRules {
  SizeRule size;
  double fps = 8;
  double max_seconds = 10;                     ///< of each window
  std::string length_limit = "--max-seconds";  ///< what decided it, for messages
  bool deinterlace = false;                    ///< make whole pictures of those flagged as two fields
  int64_t max_clip_bytes = 1ll << 30;  ///< a clip of more RGB bytes is an error, not an out-of-memory kill
  DecodeLimits limits;
  double clip_seconds = 3600;    ///< wall clock after which a file stays undecided
  DecodeMeter* meter = nullptr;  ///< counts, if there is one; decides nothing
};

/// One window of a file.
struct DecodedClip {
  Clip clip;                      ///< not yet cut to whole token rows; empty when refused
  std::string refused;            ///< reason, empty when the clip is usable
  std::vector<std::string> cuts;  ///< what was cut and why
  bool found_damage = false;
  bool undecided = false;  ///< `refused` says why there is no verdict
  SourceFacts facts;
};

/// Decodes all windows of a file in one pass. Never throws for what is wrong with the file: that is a
/// verdict. `windows` empty: the whole file. `observe` sees every frame that is presented in a window, shown
/// in a clip or not; what it throws refuses the file. Memory: the clips, a few decoded frames. Cost: bounded
/// by `rules.limits`, see Note [limits and clocks].
std::vector<DecodedClip> decode_file(const MediaLocation& location, const DecodeRules& rules,
                                     const std::vector<Window>& windows = {},
                                     const FrameObserver& observe = {});

}  // namespace zoetrope
