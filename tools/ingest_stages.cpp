#include "tools/ingest_stages.h"

#include <time.h>

#include <string_view>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/partial_file.h"
#include "video/analysis/frame_analyzer.h"
#include "video/media/media_file.h"
#include "video/pixels/token_converter.h"
#include "video/store/shard.h"

namespace zoetrope {
namespace {

constexpr int64_t kFrames = 41;  // 127 MB of 1080p pictures, far more than caches hold; 1 + 4 n

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

/// The first frames, as the decoder gives them.
std::vector<libav::Frame> decode_some(const std::string& video) {
  WorkMeter meter(DecodeLimits{}, 1e6);
  MediaFile file(video, meter);
  std::vector<libav::Frame> frames;
  const libav::Packet packet = libav::new_packet();
  std::string error;
  while (int64_t(frames.size()) < kFrames && file.read(*packet, error)) {
    if (avcodec_send_packet(&file.decoder(), packet.get()) < 0) continue;
    for (libav::Frame frame = libav::new_frame(); avcodec_receive_frame(&file.decoder(), frame.get()) == 0;
         frame = libav::new_frame())
      frames.push_back(std::move(frame));
  }
  ZT_REQUIRE(int64_t(frames.size()) >= kFrames, "'", video, "' has fewer than ", kFrames, " frames");
  frames.resize(kFrames);
  return frames;
}

}  // namespace

std::vector<StageTime> time_ingest_stages(const std::string& video, const std::string& scratch,
                                          int64_t area) {
  const std::vector<libav::Frame> frames = decode_some(video);
  std::vector<StageTime> times;
  const auto timed = [&](const char* stage, auto&& work) {
    const double begin = cpu_seconds();
    work();
    times.push_back({stage, 1e3 * (cpu_seconds() - begin) / double(kFrames)});
  };
  FrameAnalyzer analyzer;
  timed("scores", [&] {
    for (int64_t i = 0; i < kFrames; ++i) analyzer.observe(*frames[size_t(i)], {i, {i, 30}, {}});
  });
  const Patch patch;
  TokenConverter converter({patch, area, false});
  converter.prepare(*frames[0], nullptr, {1, 1});
  const TargetSize size = converter.pictures().target();
  Clip clip;
  clip.name = "clip", clip.fps = 30, clip.num_frames = kFrames;
  clip.width = size.width, clip.height = size.height;
  clip.sources.resize(size_t(kFrames));
  TokenFrames taken(patch, size.height, size.width, kFrames);
  timed("conversion to tokens", [&] {
    for (int64_t i = 0; i < kFrames; ++i) {
      taken.add();
      converter.convert(*frames[size_t(i)], nullptr, {1, 1}, taken.place(i));
    }
  });
  const Tokens tokens = taken.take(kFrames);
  const std::string_view payload(static_cast<const char*>(tokens.tokens.raw()),
                                 size_t(tokens.tokens.bytes()));
  timed("hash of tokens", [&] { content_hash(payload); });
  ShardWriter writer(patch);
  writer.begin(scratch + "/stages.h5");
  timed("chunks, hash, write", [&] { writer.append(clip, "", tokens); });
  FinishedImage finished;
  timed("index, hash of the file", [&] { finished = writer.finish(); });
  timed("sync, rename", [&] { finished.file->commit(); });
  return times;
}

}  // namespace zoetrope
