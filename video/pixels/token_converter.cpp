#include "video/pixels/token_converter.h"

namespace zoetrope {

/// Pictures like the first, not turned, in patches of 8 x 8.
bool TokenConverter::is_direct(const AVFrame& frame, const int32_t* stream_matrix,
                               const TokenPlace& place) const {
  return place.patch.h == pixels::kPatchSide && place.patch.w == pixels::kPatchSide &&
         !pictures_.orientation().swap && pictures_.is_like_first(frame, stream_matrix);
}

void TokenConverter::convert(const AVFrame& frame, const int32_t* stream_matrix,
                             std::array<int, 2> pixel_aspect, const TokenPlace& place) {
  prepare(frame, stream_matrix, pixel_aspect);
  const TargetSize& size = pictures_.target();
  if (is_direct(frame, stream_matrix, place)) {
    pixels::PictureJob job = direct_.job_for(frame, size, pictures_.orientation(), nullptr);
    job.patches = {place.first, place.row_bytes(), place.token_bytes(), place.channel_bytes()};
    run_picture_job(job);
    return;
  }
  rgb_.resize(size_t(size.width * size.height * 3));
  pictures_.convert(frame, stream_matrix, pixel_aspect, rgb_.data());
  put_picture(place, rgb_.data());
}

}  // namespace zoetrope
