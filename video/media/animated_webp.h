// Frames of an animated WebP, which FFmpeg up to 8 can't read: libwebp's own compositor, behind the same
// packets as other files. Used by video/media/media_file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "video/media/libav.h"

namespace zoetrope {

class AnimatedWebp {
 public:
  /// Whether a file that begins with these bytes is one. Source: RIFF container, VP8X chunk, animation bit.
  static bool has_signature(const std::string& head);

  static constexpr int64_t kMostBytes = int64_t(1) << 30;  ///< of a file: it is held in memory

  /// Takes the whole file. Throws: Error whose text is the reason to refuse it.
  explicit AnimatedWebp(std::string bytes);
  ~AnimatedWebp();
  /// Describes its pictures: uncompressed RGBA of the canvas, milliseconds.
  void describe(AVStream& stream) const;
  /// The next picture with its time; false at the end. `error` is set when a picture can't be decoded.
  bool read(AVPacket& packet, std::string& error);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zoetrope
