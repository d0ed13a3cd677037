#include "video/media/libav.h"

extern "C" {
#include <libavutil/imgutils.h>
}

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "core/check.h"

namespace zoetrope::libav {
namespace {

thread_local std::string* caught_message = nullptr;

// Words of errors that concern no pixel.
constexpr const char* kNotes[] = {"APP fields", "EXIF", "Exif",        "ICC",
                                  "iCCP",       "SEI",  "TIFF header", "supported tag"};

void catch_message(void*, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_ERROR || caught_message == nullptr || !caught_message->empty()) return;
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  for (const char* note : kNotes)
    if (std::strstr(text, note) != nullptr) return;
  *caught_message = text;
  while (!caught_message->empty() && (caught_message->back() == '\n' || caught_message->back() == ' '))
    caught_message->pop_back();
}

}  // namespace

std::string error_text(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE];
  av_strerror(code, text, sizeof text);
  return text;
}

int require(int code, const std::string& what) {
  ZT_REQUIRE(code >= 0, what, ": ", error_text(code));
  return code;
}

Frame new_frame() {
  Frame frame(av_frame_alloc());
  if (!frame) throw std::bad_alloc();
  return frame;
}

Frame new_picture(AVPixelFormat format, int64_t height, int64_t width) {
  Frame frame = new_frame();
  frame->format = format;
  frame->width = int(width);
  frame->height = int(height);
  require(av_frame_get_buffer(frame.get(), 0), "can't allocate a picture");
  return frame;
}

Packet new_packet() {
  Packet packet(av_packet_alloc());
  if (!packet) throw std::bad_alloc();
  return packet;
}

#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 29, 100)
bool is_key(const AVFrame& frame) { return (frame.flags & AV_FRAME_FLAG_KEY) != 0; }
bool is_interlaced(const AVFrame& frame) { return (frame.flags & AV_FRAME_FLAG_INTERLACED) != 0; }
#else
bool is_key(const AVFrame& frame) { return frame.key_frame != 0; }
bool is_interlaced(const AVFrame& frame) { return frame.interlaced_frame != 0; }
#endif

#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 2, 100)
int64_t duration_of(const AVFrame& frame) { return frame.duration; }
#else
int64_t duration_of(const AVFrame& frame) { return frame.pkt_duration; }
#endif

int64_t picture_bytes(const AVFrame& frame) {
  return std::max(0, av_image_get_buffer_size(AVPixelFormat(frame.format), frame.width, frame.height, 1));
}

const int32_t* display_matrix_of(const AVStream& stream) {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  const AVPacketSideData* found = av_packet_side_data_get(
      stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
  return found != nullptr && found->size >= 36 ? reinterpret_cast<const int32_t*>(found->data) : nullptr;
#else
  size_t size = 0;
  const uint8_t* found = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  return found != nullptr && size >= 36 ? reinterpret_cast<const int32_t*>(found) : nullptr;
#endif
}

LogCatcher::LogCatcher() {
  static std::once_flag once;
  std::call_once(once, [] { av_log_set_callback(catch_message); });
  outer_ = std::exchange(caught_message, &message_);
}

LogCatcher::~LogCatcher() { caught_message = outer_; }

std::string LogCatcher::take() { return std::exchange(message_, {}); }

}  // namespace zoetrope::libav
