#include "video/media/stream_changes.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include "core/check.h"

namespace zoetrope {
namespace {

std::string name_or(const char* name) { return name == nullptr ? "unknown" : name; }

/// "yuv420p bt709 tv".
std::string kind_of(int format, int matrix, int range) {
  return name_or(av_get_pix_fmt_name(AVPixelFormat(format))) + " " +
         name_or(av_color_space_name(AVColorSpace(matrix))) + " " +
         name_or(av_color_range_name(AVColorRange(range)));
}

}  // namespace

void StreamChanges::note(const AVFrame& frame) {
  const bool other_size = frame.width != width_ || frame.height != height_;
  const bool other_kind =
      frame.format != format_ || int(frame.colorspace) != matrix_ || int(frame.color_range) != range_;
  if (started_ && other_size && ++sizes_ == 1)
    first_size_change_ = join_message(width_, "x", height_, " becomes ", frame.width, "x", frame.height);
  if (started_ && other_kind && ++formats_ == 1)
    first_format_change_ = kind_of(format_, matrix_, range_) + " becomes " +
                           kind_of(frame.format, int(frame.colorspace), int(frame.color_range));
  started_ = true;
  width_ = frame.width;
  height_ = frame.height;
  format_ = frame.format;
  matrix_ = int(frame.colorspace);
  range_ = int(frame.color_range);
}

std::string StreamChanges::text() const {
  std::string out;
  if (sizes_ > 0)
    out = join_message("the picture's size changes ", sizes_, " times within the file, first ",
                       first_size_change_, "; later pictures are fitted to the first");
  if (formats_ > 0)
    out += join_message(out.empty() ? "" : "; ", "the pixel format or its colour tags change ", formats_,
                        " times within the file, first ", first_format_change_,
                        "; each picture is converted by its own");
  return out;
}

}  // namespace zoetrope
