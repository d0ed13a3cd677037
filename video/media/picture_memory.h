// Memory of a decoder's pictures in large pages. Prediction reads from anywhere in several pictures: in small
// pages the processor looks up a page's place for nearly every block. Used by MediaFile.
#pragma once

#include "video/media/libav.h"

namespace zoetrope {

/// Gives a decoder large pictures; small ones, and formats with a palette or on a device, come from
/// libavcodec's own memory. Lives as long as the decoder; pictures may outlive both.
class PictureMemory {
 public:
  PictureMemory() = default;
  ~PictureMemory() { av_buffer_pool_uninit(&pool_); }
  PictureMemory(const PictureMemory&) = delete;
  PictureMemory& operator=(const PictureMemory&) = delete;

  /// Before the decoder is opened. Sets its `opaque`.
  void serve(AVCodecContext& decoder);

 private:
  static int get(AVCodecContext* decoder, AVFrame* frame, int flags);
  int fill(AVCodecContext& decoder, AVFrame& frame);

  AVBufferPool* pool_ = nullptr;  ///< of buffers of `bytes_`
  size_t bytes_ = 0;
};

}  // namespace zoetrope
