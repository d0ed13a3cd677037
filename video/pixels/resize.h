// From a decoded picture to RGB of the data set's size: colour matrix and range as tagged (or by a stated
// guess), pixel aspect, resize to cover, rotation, centre crop to whole patches. Used by video/media/decode.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "video/tokens.h"

struct AVFrame;

namespace zoetrope {

/// What size clips get.
struct SizeRule {
  Patch patch;
  int64_t area = int64_t(96) * 64;  ///< pixels of the target, at the clip's own aspect
  bool upscale = false;             ///< smaller clips grow to the area instead of keeping their size
  bool tone_map_hdr = true;         ///< PQ and HLG become BT.709, or are refused
};

/// Where a shown picture goes: scaled to `scaled_*`, then cut to the centre `width` x `height`.
struct TargetSize {
  int64_t width = 0, height = 0, scaled_width = 0, scaled_height = 0;
  double crop_loss = 0;  ///< share of the picture that is cut away
};

/// Width and height are multiples of the patch, their product is at most the area (one patch at least), and
/// together they keep shape and size best. Units: shown_width, shown_height in square pixels.
/// Throws: Error (a reason to refuse the clip) when the picture is smaller than a patch and may not grow.
TargetSize choose_target(double shown_width, double shown_height, const SizeRule& rule);

/// How a coded picture is turned to be shown: columns and rows swapped first, then mirrored.
struct Orientation {
  bool swap = false, flip_x = false, flip_y = false;
  bool operator==(const Orientation&) const = default;
  int rotation() const;   ///< degrees clockwise, of the part that is no mirroring
  bool mirrored() const;  ///< seen in a mirror before the rotation
};
/// Reads a display matrix (9 fixed-point numbers; null: none).
/// Throws: Error (a reason to refuse) for angles other than multiples of 90 degrees.
Orientation orientation_of(const int32_t* display_matrix);

/// What decides pixels besides sizes and tags, in words; part of a data set's rules.
const char* pixel_rules();

/// Turns decoded pictures into RGB. The first picture decides the size; later ones of another size are fitted
/// in.
class FrameConverter {
 public:
  explicit FrameConverter(const SizeRule& rule);
  ~FrameConverter();
  /// Converts into `rgb`, which gets target().height x target().width x 3 bytes. `pixel_aspect` {0, 1}: the
  /// frame's own. Throws: Error with a reason to refuse the clip.
  void convert(const AVFrame& frame, const int32_t* stream_matrix, std::array<int, 2> pixel_aspect,
               uint8_t* rgb);
  /// Decides the size from this picture, when it is the first.
  void prepare(const AVFrame& frame, const int32_t* stream_matrix, std::array<int, 2> pixel_aspect);
  const TargetSize& target() const;
  Orientation orientation() const;
  /// Whether a picture has the size and the orientation of the first.
  bool is_like_first(const AVFrame& frame, const int32_t* stream_matrix) const;
  int64_t shown_width() const;   ///< of the first picture, in square pixels
  int64_t shown_height() const;  ///< as shown_width
  std::string pixel_aspect() const;
  std::string matrix() const;
  std::string range() const;
  bool guessed_color() const;
  const std::string& color_steps() const;  ///< place of chroma, alpha, tone mapping
  bool size_changed() const;               ///< some picture had another size or orientation than the first

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zoetrope
