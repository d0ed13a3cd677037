#include "video/media/deinterlacer.h"

#include <new>

#include "core/check.h"

extern "C" {
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/pixdesc.h>
}

namespace zoetrope {
namespace {

AVFilterContext* add_filter(AVFilterGraph* graph, const char* name, const std::string& arguments) {
  AVFilterContext* filter = nullptr;
  const AVFilter* kind = avfilter_get_by_name(name);
  ZT_REQUIRE(kind != nullptr, "this build of libavfilter has no ", name);
  libav::require(avfilter_graph_create_filter(&filter, kind, name, arguments.c_str(), nullptr, graph), name);
  return filter;
}

}  // namespace

Deinterlacer::Deinterlacer() = default;
Deinterlacer::~Deinterlacer() { avfilter_graph_free(&graph_); }

std::string Deinterlacer::description() {
  const unsigned version = avfilter_version();
  return join_message("bwdif of libavfilter ", AV_VERSION_MAJOR(version), ".", AV_VERSION_MINOR(version), ".",
                      AV_VERSION_MICRO(version));
}

bool Deinterlacer::fits(const AVFrame& frame) const {
  return graph_ != nullptr && frame.width == width_ && frame.height == height_ && frame.format == format_;
}

void Deinterlacer::open(const AVFrame& frame) {
  avfilter_graph_free(&graph_);
  width_ = frame.width;
  height_ = frame.height;
  format_ = frame.format;
  graph_ = avfilter_graph_alloc();
  if (graph_ == nullptr) throw std::bad_alloc();
  graph_->nb_threads = 1;
  // Without this a pixel format that bwdif can't take would be converted by swscale, unasked.
  avfilter_graph_set_auto_convert(graph_, AVFILTER_AUTO_CONVERT_NONE);
  source_ =
      add_filter(graph_, "buffer",
                 join_message("video_size=", width_, "x", height_, ":pix_fmt=", format_, ":time_base=1/1"));
  AVFilterContext* filter = add_filter(graph_, "bwdif", "mode=send_frame:parity=auto:deint=interlaced");
  sink_ = add_filter(graph_, "buffersink", "");
  libav::require(avfilter_link(source_, 0, filter, 0), "bwdif's input");
  libav::require(avfilter_link(filter, 0, sink_, 0), "bwdif's output");
  const int code = avfilter_graph_config(graph_, nullptr);
  const char* name = av_get_pix_fmt_name(AVPixelFormat(format_));
  ZT_REQUIRE(code >= 0, "pictures of pixel format ", name != nullptr ? name : "unknown", " and size ", width_,
             "x", height_, " can't be deinterlaced: ", libav::error_text(code),
             "; ingest without --deinterlace");
}

void Deinterlacer::put(const AVFrame& frame) {
  libav::LogCatcher log;
  libav::Frame original(av_frame_clone(&frame)), input(av_frame_clone(&frame));
  if (!original || !input) throw std::bad_alloc();
  if (!fits(frame)) finish();
  if (graph_ == nullptr && !libav::is_interlaced(frame)) {
    ready_.push_back(std::move(original));
    return;
  }
  if (graph_ == nullptr) open(frame);
  input->pts = num_put_++;
  libav::require(av_buffersrc_add_frame(source_, input.get()), "deinterlacing");
  originals_.push_back(std::move(original));
  collect();
}

void Deinterlacer::finish() {
  if (graph_ == nullptr) return;
  libav::LogCatcher log;
  libav::require(av_buffersrc_add_frame(source_, nullptr), "deinterlacing");
  collect();
  ZT_CHECK(originals_.empty(), "the deinterlacer kept ", originals_.size(), " pictures");
  avfilter_graph_free(&graph_);
}

void Deinterlacer::collect() {
  for (;;) {
    libav::Frame picture = libav::new_frame();
    const int code = av_buffersink_get_frame(sink_, picture.get());
    if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
    libav::require(code, "deinterlacing");
    ZT_CHECK(!originals_.empty(), "the deinterlacer gave more pictures than it got");
    // Times and flags are the decoded picture's.
    while (picture->nb_side_data > 0) av_frame_remove_side_data(picture.get(), picture->side_data[0]->type);
    libav::require(av_frame_copy_props(picture.get(), originals_.front().get()), "picture properties");
    originals_.pop_front();
    ready_.push_back(std::move(picture));
  }
}

bool Deinterlacer::take(AVFrame& out) {
  if (ready_.empty()) return false;
  av_frame_unref(&out);
  av_frame_move_ref(&out, ready_.front().get());
  ready_.pop_front();
  return true;
}

}  // namespace zoetrope
