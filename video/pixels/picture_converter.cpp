#include "video/pixels/picture_converter.h"

#include <algorithm>

#include "core/check.h"

namespace zoetrope::pixels {
namespace {

int64_t samples_of(int64_t pixels, int log2_subsampling) {
  return (pixels + (int64_t(1) << log2_subsampling) - 1) >> log2_subsampling;
}

}  // namespace

bool PictureKey::operator==(const PictureKey& other) const {
  const auto same_size = [](const TargetSize& a, const TargetSize& b) {
    return a.width == b.width && a.height == b.height && a.scaled_width == b.scaled_width &&
           a.scaled_height == b.scaled_height;
  };
  return width == other.width && height == other.height && format == other.format && color == other.color &&
         turn == other.turn && same_size(size, other.size);
}

void PictureConverter::prepare(const PictureKey& key, const PixelFormat& format) {
  const TargetSize& size = key.size;
  const ChromaSiting siting = siting_of(key.color, format);
  const int64_t left = (size.scaled_width - size.width) / 2, top = (size.scaled_height - size.height) / 2;
  const bool swap = key.turn.swap;
  for (int chroma = 0; chroma < 2; ++chroma) {
    const int log2_w = chroma ? format.about->log2_chroma_w : 0,
              log2_h = chroma ? format.about->log2_chroma_h : 0;
    const AxisGrid across{key.width, samples_of(key.width, log2_w), 1 << log2_w, chroma ? siting.x : 0};
    const AxisGrid down{key.height, samples_of(key.height, log2_h), 1 << log2_h, chroma ? siting.y : 0};
    // As shown, columns are those of the coded picture, or its rows.
    const ResampleAxis shown_columns =
        make_axis(map_axis(swap ? down : across, size.scaled_width, left, size.width, key.turn.flip_x));
    const ResampleAxis shown_rows =
        make_axis(map_axis(swap ? across : down, size.scaled_height, top, size.height, key.turn.flip_y));
    columns_[size_t(chroma)] = swap ? shown_rows : shown_columns;
    rows_[size_t(chroma)] = swap ? shown_columns : shown_rows;
  }
  format_ = format;
  reader_ = PlaneReader(format, !key.color.full_range);
  key_ = key;
  prepared_ = true;
}

PictureJob PictureConverter::job_for(const AVFrame& frame, const TargetSize& size, const Orientation& turn,
                                     uint8_t* rgb) {
  const PixelFormat format = pixel_format_of(frame.format);
  const PictureKey key{frame.width, frame.height, frame.format, color_of(frame, format, tone_map_hdr_),
                       size,        turn};
  if (!prepared_ || !(key == key_)) prepare(key, format);
  PictureJob job;
  job.planes = reader_.read(frame);
  job.num_planes = format.planes;
  for (size_t p = 0; p < 3; ++p) {
    const bool chroma = p > 0 && format.planes == 3 && !format.is_rgb;
    job.columns[p] = &columns_[chroma];
    job.rows[p] = &rows_[chroma];
  }
  const ColorEquations equations =
      equations_of(key.color, format, {job.planes[0].depth, job.planes[1].depth, job.planes[2].depth});
  if (const HdrTransfer hdr = hdr_of(key.color); hdr != HdrTransfer::kNone) {
    job.tone_map = &tone_map_of(hdr);
    job.signals = signals_of(equations);
  } else {
    job.mix = mix_of(equations);
  }
  job.swap = turn.swap;
  job.rgb = rgb;
  job.line = size.width * 3;
  return job;
}

void PictureConverter::convert(const AVFrame& frame, const TargetSize& size, const Orientation& turn,
                               uint8_t* rgb) {
  run_picture_job(job_for(frame, size, turn, rgb));
}

}  // namespace zoetrope::pixels
