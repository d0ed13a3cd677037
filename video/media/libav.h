// Owning handles for libav objects, its error texts, and its log caught per thread instead of printed. For
// the sources of video/ that decode, convert and encode.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

#include <memory>
#include <string>

namespace zoetrope::libav {

/// One deleter for all of libav's free functions that take a pointer to the pointer.
template <auto kFree>
struct FreeByAddress {
  template <class T>
  void operator()(T* object) const {
    kFree(&object);
  }
};
struct FreeScaler {
  void operator()(SwsContext* context) const { sws_freeContext(context); }
};

using Frame = std::unique_ptr<AVFrame, FreeByAddress<av_frame_free>>;
using Packet = std::unique_ptr<AVPacket, FreeByAddress<av_packet_free>>;
using Codec = std::unique_ptr<AVCodecContext, FreeByAddress<avcodec_free_context>>;
using Scaler = std::unique_ptr<SwsContext, FreeScaler>;

/// libav's text for an error code.
std::string error_text(int code);
/// Throws: Error "WHAT: libav's text" when `code` is negative; returns it otherwise.
int require(int code, const std::string& what);
/// A new object. Throws: std::bad_alloc.
Frame new_frame();
Packet new_packet();
/// A frame with room for its picture. Throws: Error when there is no memory.
Frame new_picture(AVPixelFormat format, int64_t height, int64_t width);

/// Fields of a frame that changed their names between FFmpeg 5 and 7.
bool is_key(const AVFrame& frame);
bool is_interlaced(const AVFrame& frame);
int64_t duration_of(const AVFrame& frame);
/// Bytes of a decoded picture without padding.
int64_t picture_bytes(const AVFrame& frame);
/// The stream's display matrix (9 numbers), or null.
const int32_t* display_matrix_of(const AVStream& stream);

/// Catches what libav logs as an error on this thread while the object lives, and keeps libav from printing.
/// Errors in what lies beside the picture (EXIF, colour profiles, other notes) are left out. Inside another
/// one, the inner one catches.
class LogCatcher {
 public:
  LogCatcher();
  ~LogCatcher();
  LogCatcher(const LogCatcher&) = delete;
  LogCatcher& operator=(const LogCatcher&) = delete;
  /// The first message since the last call, without its newline; empty when there was none.
  std::string take();

 private:
  std::string message_;
  std::string* outer_;  ///< of the catcher around this one
};

}  // namespace zoetrope::libav
