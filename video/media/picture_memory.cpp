#include "video/media/picture_memory.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <new>

#include "core/big_pages.h"

namespace zoetrope {
namespace {

constexpr size_t kWorthIt = 1 << 20;  // bytes of a picture
constexpr size_t kBetween = 128;      // bytes after each plane that a decoder may read or write past its end
constexpr size_t kAlign = 64;

// Note [Places of pictures]: were all pictures to start at a large page, the same pixel of each would fall
// into the same few places of the caches. So each starts a little later than the one before.
constexpr size_t kStep = 4096 + 5 * kAlign, kSteps = 16;

void release(void* pages, uint8_t*) { delete static_cast<BigPages*>(pages); }

/// Called by libav, through which no exception passes.
AVBufferRef* allocate(size_t bytes) {
  static std::atomic<size_t> count{0};
  try {
    auto pages = std::make_unique<BigPages>(bytes + kStep * kSteps);
    AVBufferRef* buffer =
        av_buffer_create(pages->data() + count++ % kSteps * kStep, bytes, release, pages.get(), 0);
    if (buffer != nullptr) pages.release();
    return buffer;
  } catch (const std::bad_alloc&) { return nullptr; }
}

struct Planes {
  int steps[4] = {};  ///< bytes from row to row
  size_t bytes[4] = {};
  size_t total = 0;
};

/// As libavcodec lays out pictures, with all planes in one buffer; total 0 where that is not for us.
Planes planes_of(AVCodecContext& decoder, const AVFrame& frame) {
  Planes planes;
  const auto format = AVPixelFormat(frame.format);
  const AVPixFmtDescriptor* description = av_pix_fmt_desc_get(format);
  if (description == nullptr || (description->flags & (AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_HWACCEL)) != 0)
    return planes;
  int width = frame.width, height = frame.height, align[AV_NUM_DATA_POINTERS] = {};
  avcodec_align_dimensions2(&decoder, &width, &height, align);
  for (bool aligned = false; !aligned; width += width & ~(width - 1)) {
    if (av_image_fill_linesizes(planes.steps, format, width) < 0) return planes;
    aligned = true;
    for (int i = 0; i < 4; ++i) aligned = aligned && planes.steps[i] % std::max(align[i], int(kAlign)) == 0;
  }
  const ptrdiff_t steps[4] = {planes.steps[0], planes.steps[1], planes.steps[2], planes.steps[3]};
  if (av_image_fill_plane_sizes(planes.bytes, format, height, steps) < 0) return planes;
  for (size_t& bytes : planes.bytes) {
    if (bytes > 0) bytes = (bytes + kBetween + kAlign - 1) / kAlign * kAlign;
    planes.total += bytes;
  }
  return planes;
}

}  // namespace

void PictureMemory::serve(AVCodecContext& decoder) {
  if ((decoder.codec->capabilities & AV_CODEC_CAP_DR1) == 0) return;
  decoder.opaque = this;
  decoder.get_buffer2 = get;
  decoder.thread_type =
      FF_THREAD_SLICE;  // threads of whole frames, which nobody asks for, would call it at once
}

int PictureMemory::get(AVCodecContext* decoder, AVFrame* frame, int flags) {
  const int code = static_cast<PictureMemory*>(decoder->opaque)->fill(*decoder, *frame);
  return code > 0 ? avcodec_default_get_buffer2(decoder, frame, flags) : code;
}

/// 0: done; positive: not for us; negative: libav's code.
int PictureMemory::fill(AVCodecContext& decoder, AVFrame& frame) {
  const Planes planes = planes_of(decoder, frame);
  if (planes.total < kWorthIt) return 1;
  if (planes.total != bytes_) {
    av_buffer_pool_uninit(&pool_);
    pool_ = av_buffer_pool_init(planes.total, allocate);
    if (pool_ == nullptr) return AVERROR(ENOMEM);
    bytes_ = planes.total;
  }
  frame.buf[0] = av_buffer_pool_get(pool_);
  if (frame.buf[0] == nullptr) return AVERROR(ENOMEM);
  uint8_t* at = frame.buf[0]->data;
  for (int i = 0; i < 4; ++i) {
    frame.data[i] = planes.bytes[i] > 0 ? at : nullptr;
    frame.linesize[i] = planes.steps[i];
    at += planes.bytes[i];
  }
  frame.extended_data = frame.data;
  return 0;
}

}  // namespace zoetrope
