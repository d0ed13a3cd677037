// Whoever wants to see every presented frame of a file while it is decoded, without a decode of its own.
// Called by video/media/file_decoder.
#pragma once

#include <cstdint>
#include <functional>

#include "video/media/ratio.h"
#include "video/pixels/resize.h"

struct AVFrame;

namespace zoetrope {

/// Place of a presented frame.
struct PresentedFrame {
  int64_t index = 0;  ///< presentation index, as in FrameSource
  Ratio time;         ///< seconds after the file's first presented frame
  Orientation turn;   ///< how the coded picture is shown, by the stream's display matrix
};

/// Gets frames in order of presentation; the picture is valid during the call. A decode that has to start
/// again begins with frame 0 once more. Empty: nobody looks.
using FrameObserver = std::function<void(const AVFrame&, const PresentedFrame&)>;

}  // namespace zoetrope
