// Pictures in our memory equal those in libavcodec's own, for codecs and pixel formats of every layout of
// planes.
#include "video/media/picture_memory.h"

extern "C" {
#include <libavutil/imgutils.h>
}

#include <gtest/gtest.h>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/content_hash.h"
#include "tests/support/media.h"
#include "video/media/libav.h"

namespace zoetrope {
namespace {

struct Case {
  const char* codec;
  const char* format;
  const char* size;
  bool ours;  ///< whether pictures are large enough, and without a palette
};

struct CloseInput {
  void operator()(AVFormatContext* input) const { avformat_close_input(&input); }
};

struct Decoded {
  std::vector<uint64_t> pictures;
  int64_t in_one_buffer = 0;  ///< pictures whose planes share a buffer, as ours do
};

uint64_t hash_of(const AVFrame& frame) {
  const int bytes = av_image_get_buffer_size(AVPixelFormat(frame.format), frame.width, frame.height, 1);
  std::string plain(size_t(bytes), '\0');
  av_image_copy_to_buffer(reinterpret_cast<uint8_t*>(plain.data()), bytes, frame.data, frame.linesize,
                          AVPixelFormat(frame.format), frame.width, frame.height, 1);
  ContentHash hash;
  hash.add(plain);
  return hash.value();
}

/// All pictures of a file; read only after the decoder and its memory are gone, in the order of the file.
Decoded decode(const std::string& path, bool ours) {
  AVFormatContext* opened = nullptr;
  libav::require(avformat_open_input(&opened, path.c_str(), nullptr, nullptr), path);
  const std::unique_ptr<AVFormatContext, CloseInput> input(opened);
  libav::require(avformat_find_stream_info(opened, nullptr), path);
  auto memory = std::make_unique<PictureMemory>();
  const AVCodec* codec = avcodec_find_decoder(opened->streams[0]->codecpar->codec_id);
  libav::Codec decoder(avcodec_alloc_context3(codec));
  libav::require(avcodec_parameters_to_context(decoder.get(), opened->streams[0]->codecpar), path);
  decoder->thread_count = 1;
  if (ours) memory->serve(*decoder);
  libav::require(avcodec_open2(decoder.get(), codec, nullptr), path);
  std::vector<libav::Frame> frames;
  const libav::Packet packet = libav::new_packet();
  for (bool more = true; more;) {
    more = av_read_frame(opened, packet.get()) >= 0;
    libav::require(avcodec_send_packet(decoder.get(), more ? packet.get() : nullptr), path);
    av_packet_unref(packet.get());
    for (;;) {
      libav::Frame frame = libav::new_frame();
      if (avcodec_receive_frame(decoder.get(), frame.get()) < 0) break;
      frames.push_back(std::move(frame));
    }
  }
  decoder.reset();
  memory.reset();
  Decoded decoded;
  for (const libav::Frame& frame : frames) {
    decoded.pictures.push_back(hash_of(*frame));
    decoded.in_one_buffer += frame->data[1] != nullptr && frame->buf[1] == nullptr ? 1 : 0;
  }
  return decoded;
}

TEST(PictureMemory, HoldsWhatLibavcodecsOwnHolds) {
  const std::string folder = testing::TempDir() + "/picture_memory";
  std::filesystem::create_directories(folder);
  const std::vector<Case> cases = {
      {"libx264 -bf 3 -refs 4", "yuv420p", "1366x770", true},
      {"libx264", "yuv422p10le", "1000x806", true},
      {"libx264", "yuv444p", "1930x338", true},
      {"mpeg4 -bf 2 -flags +qpel+mv4", "yuv420p", "1366x770", true},
      {"mjpeg", "yuvj444p", "1001x701", true},
      {"ffv1", "gbrp10le", "1001x701", true},
      {"ffv1", "yuva444p16le", "517x401", true},
      {"libvpx-vp9 -deadline realtime -cpu-used 8", "yuv420p", "1366x770", true},
      {"libx264", "yuv420p", "640x360", false},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    SCOPED_TRACE(std::string(c.codec) + " " + c.format + " " + c.size);
    const std::string path = folder + "/" + std::to_string(i) + ".mkv";
    testing_support::run_ffmpeg("-f lavfi -i testsrc2=s=" + std::string(c.size) +
                                ":r=10 -frames:v 14 -pix_fmt " + c.format + " -c:v " + c.codec + " " + path);
    const Decoded expected = decode(path, false), found = decode(path, true);
    EXPECT_EQ(expected.pictures.size(), 14u);
    EXPECT_EQ(found.pictures, expected.pictures);
    EXPECT_EQ(expected.in_one_buffer, 0);
    EXPECT_EQ(found.in_one_buffer, c.ours ? 14 : 0);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace zoetrope
