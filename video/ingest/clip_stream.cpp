#include "video/ingest/clip_stream.h"

#include <exception>

namespace zoetrope {
namespace {

/// Runs what may fail for reasons that are no fault of the clip.
template <class Run>
void for_sink(Run&& run) {
  try {
    run();
  } catch (...) { throw TokenSinkFailed{std::current_exception()}; }
}

}  // namespace

StreamedClips decode_streamed(const MediaLocation& location, const DecodeRules& rules,
                              const std::vector<Window>& windows, FrameAnalyzer& frames,
                              const std::function<std::shared_ptr<ShardStream>()>& open) {
  std::weak_ptr<ShardStream> opened;  // the decoder drops it with the run that it belongs to
  const auto open_sink = [&]() -> TokenSink {
    std::shared_ptr<ShardStream> stream;
    if (opened.expired()) for_sink([&] { stream = open(); });
    if (!stream) return {};
    opened = stream;
    return {[stream](const Tensor& rows) { for_sink([&] { stream->put(rows); }); },
            [stream](const Tensor& rows) { for_sink([&] { stream->read_back(rows); }); }};
  };
  const auto observe = [&](const AVFrame& frame, const PresentedFrame& place) {
    frames.observe(frame, place);
  };
  try {
    StreamedClips out{decode_tokens(location, rules, windows, observe, open_sink), nullptr};
    out.stream = opened.lock();
    return out;
  } catch (const TokenSinkFailed& failure) { std::rethrow_exception(failure.reason); }
}

}  // namespace zoetrope
