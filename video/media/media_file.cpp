#include "video/media/media_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/check.h"
#include "video/media/ratio.h"

namespace zoetrope {
namespace {

// Demuxers that read one self-contained file. Playlists, `concat`, `image2` patterns, `sdp`, `hls`, `dash`,
// subtitles and vector graphics are not among them: they open other files or the network.
constexpr const char* kAllowedFormats[] = {
    "mov",      "matroska",  "avi",          "mpeg",     "mpegts",    "mpegvideo",   "m4v",
    "h264",     "hevc",      "av1",          "obu",      "ivf",       "flv",         "ogg",
    "asf",      "gif",       "apng",         "mjpeg",    "mxf",       "nut",         "rm",
    "vc1",      "dv",        "yuv4mpegpipe", "mp3",      "wav",       "flac",        "aac",
    "png_pipe", "jpeg_pipe", "webp_pipe",    "bmp_pipe", "tiff_pipe", "jpegls_pipe", "j2k_pipe",
    "ppm_pipe", "pgm_pipe",  "pbm_pipe",     "pam_pipe", "qoi_pipe",  "jpegxl_pipe", "dpx_pipe",
    "exr_pipe", "sgi_pipe",  "pcx_pipe"};

int refuse_open(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) { return AVERROR(EPERM); }

/// First of the comma-joined names by which libav knows a demuxer.
std::string short_name(const AVInputFormat& format) {
  const std::string names = format.name;
  return names.substr(0, names.find(','));
}

bool is_allowed(const AVInputFormat& format) {
  for (const char* allowed : kAllowedFormats)
    if (short_name(format) == allowed) return true;
  return false;
}

double seconds(int64_t time, AVRational base) {
  return time == AV_NOPTS_VALUE ? kUnknownSeconds : double(time) * av_q2d(base);
}

/// libav's text for a failure, with what it logged, when that says more.
std::string with_log(int code, libav::LogCatcher& log) {
  const std::string logged = log.take();
  return logged.empty() ? libav::error_text(code) : logged + " (" + libav::error_text(code) + ")";
}

/// Asked by libav's own loops.
int is_late(void* meter) { return static_cast<WorkMeter*>(meter)->is_late() ? 1 : 0; }

/// Options for each stream's decoder while the file is probed.
class ProbeOptions {
 public:
  ProbeOptions(unsigned streams, int64_t max_pixels) : options_(streams, nullptr) {
    for (AVDictionary*& each : options_) av_dict_set_int(&each, "max_pixels", max_pixels, 0);
  }
  ~ProbeOptions() {
    for (AVDictionary*& each : options_) av_dict_free(&each);
  }
  ProbeOptions(const ProbeOptions&) = delete;
  ProbeOptions& operator=(const ProbeOptions&) = delete;
  AVDictionary** data() { return options_.empty() ? nullptr : options_.data(); }

 private:
  std::vector<AVDictionary*> options_;
};

constexpr const char* kEmptyFile = "an empty file (0 bytes)";

/// Whether the first bytes hold no control characters but white space.
bool looks_like_text(int file, int64_t begin, int64_t end) {
  char buffer[512];
  const ssize_t n = pread(file, buffer, size_t(std::min<int64_t>(512, end - begin)), begin);
  for (ssize_t i = 0; i < n; ++i)
    if (uint8_t(buffer[i]) < 9 || (uint8_t(buffer[i]) > 13 && uint8_t(buffer[i]) < 32)) return false;
  return n > 0;
}

}  // namespace

int MediaFile::read_bytes(void* opaque, uint8_t* buffer, int size) {
  Bytes& bytes = *static_cast<Bytes*>(opaque);
  const int64_t left = bytes.end - bytes.at;
  if (left <= 0) return AVERROR_EOF;
  if (!bytes.meter->may_read(size)) return AVERROR_EXIT;
  ssize_t n;
  do n = pread(bytes.file, buffer, size_t(std::min<int64_t>(size, left)), bytes.at);
  while (n < 0 && errno == EINTR);
  if (n > 0) bytes.at += n;
  return n == 0 ? AVERROR_EOF : n < 0 ? AVERROR(errno) : int(n);
}

int64_t MediaFile::seek_bytes(void* opaque, int64_t offset, int whence) {
  Bytes& bytes = *static_cast<Bytes*>(opaque);
  const int64_t size = bytes.end - bytes.begin, from = whence & ~AVSEEK_FORCE;
  if (whence == AVSEEK_SIZE) return size;
  const int64_t base = from == SEEK_CUR ? bytes.at - bytes.begin : from == SEEK_END ? size : 0;
  if (offset < -base || offset > INT64_MAX - base - bytes.begin) return AVERROR(EINVAL);
  bytes.at = bytes.begin + base + offset;
  return base + offset;
}

/// A limit comes before what followed from it, and a lack of memory says nothing about the file.
void MediaFile::fail(int code, const std::string& what, libav::LogCatcher& log) const {
  bytes_.meter->check();
  if (code == AVERROR(ENOMEM) && memory_is_short()) throw std::bad_alloc();
  throw DamagedFile(what + ": " + with_log(code, log));
}

MediaFile::MediaFile(const MediaLocation& location, WorkMeter& meter) : location_(location) {
  static const bool limited = (av_max_alloc(size_t(kLargestAllocation)), true);
  (void)limited;
  bytes_.meter = &meter;
  try {
    const std::string reason = unreadable_reason(location);
    if (reason == kEmptyFile) throw DamagedFile(reason);
    ZT_REQUIRE(reason.empty(), reason);
    const std::string path =
        location.is_pictures() ? location.path + "/" + location.pictures[0] : location.path;
    bytes_.file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status;
    ZT_REQUIRE(bytes_.file >= 0 && fstat(bytes_.file, &status) == 0, "can't be read: ", std::strerror(errno));
    bytes_.begin = bytes_.at = location.offset;
    bytes_.end = location.is_part() ? location.offset + location.size : int64_t(status.st_size);
    meter.set_file_bytes(bytes_.end - bytes_.begin);
    probe(path);
    if (location.is_pictures()) become_pictures();
    open_decoder();
  } catch (...) {
    close_all();
    throw;
  }
}

MediaFile::~MediaFile() { close_all(); }

void MediaFile::close_all() {
  decoder_.reset();
  if (webp_) avformat_free_context(std::exchange(format_, nullptr));
  avformat_close_input(&format_);
  if (reader_ != nullptr) {
    av_freep(&reader_->buffer);
    avio_context_free(&reader_);
  }
  if (bytes_.file >= 0) close(bytes_.file);
  bytes_.file = -1;
}

void MediaFile::probe(const std::string& path) {
  constexpr int kBuffer = 64 << 10;
  std::string head(32, '\0');
  head.resize(size_t(std::max<ssize_t>(pread(bytes_.file, head.data(), head.size(), bytes_.begin), 0)));
  if (AnimatedWebp::has_signature(head)) {
    open_webp();
    return;
  }
  libav::LogCatcher log;
  reader_ = avio_alloc_context(static_cast<uint8_t*>(av_malloc(kBuffer)), kBuffer, 0, &bytes_, read_bytes,
                               nullptr, seek_bytes);
  if (reader_ == nullptr) throw std::bad_alloc();
  const AVInputFormat* found = nullptr;
  // By content alone: a name's ending proves nothing, and "image2" would read numbered neighbours.
  const int code = av_probe_input_buffer2(reader_, &found, "", nullptr, 0, 0);
  bytes_.meter->check();
  ZT_REQUIRE(code >= 0 && found != nullptr, looks_like_text(bytes_.file, bytes_.begin, bytes_.end)
                                                ? "the content is text, not a video or picture"
                                                : "the content is no video or picture that libav knows");
  ZT_REQUIRE(is_allowed(*found), "the content looks like '", short_name(*found),
             "', which is not read: ", "text, a playlist, or a format that may open other files");
  open_demuxer(path, *found);
  choose_stream();
}

void MediaFile::open_demuxer(const std::string& path, const AVInputFormat& found) {
  libav::LogCatcher log;
  format_ = avformat_alloc_context();
  if (format_ == nullptr) throw std::bad_alloc();
  format_->pb = reader_;
  format_->flags |= AVFMT_FLAG_CUSTOM_IO;
  format_->io_open = refuse_open;
  format_->protocol_whitelist = av_strdup("file");
  container_ = short_name(found);
  format_->interrupt_callback = {is_late, bytes_.meter};
  const std::string name = std::filesystem::path(path).filename();
  int code = avformat_open_input(&format_, name.c_str(), &found, nullptr);
  if (code < 0) fail(code, "can't be opened as " + container_, log);
  ProbeOptions options(format_->nb_streams, bytes_.meter->limits().max_pixels);
  code = avformat_find_stream_info(format_, options.data());
  if (code < 0) fail(code, "no stream information", log);
  bytes_.meter->check();
  still_ = container_.ends_with("_pipe");
  declares_exactly_ = container_ == "mov";
  seeks_by_presentation_ = container_ == "matroska" || container_ == "mov";
  can_seek_ =
      container_ == "mov" || container_ == "matroska" || container_ == "flv" || container_ == "mpegts";
}

void MediaFile::open_webp() {
  const int64_t size = seek_bytes(&bytes_, 0, AVSEEK_SIZE);
  ZT_REQUIRE(size >= 0, "can't be read: ", libav::error_text(int(size)));
  ZT_REQUIRE(size <= AnimatedWebp::kMostBytes, "an animated WebP of more than ", AnimatedWebp::kMostBytes,
             " bytes; convert it to MP4 first");
  std::string bytes(size_t(size), '\0');
  for (size_t at = 0; at < bytes.size();) {
    const int n = read_bytes(&bytes_, reinterpret_cast<uint8_t*>(&bytes[at]),
                             int(std::min<size_t>(bytes.size() - at, 1 << 20)));
    bytes_.meter->check();
    ZT_REQUIRE(n > 0, "can't be read: ", libav::error_text(n));
    at += size_t(n);
  }
  webp_ = std::make_unique<AnimatedWebp>(std::move(bytes));
  container_ = "webp";
  format_ = avformat_alloc_context();  // holds the stream, and reads nothing
  if (format_ == nullptr) throw std::bad_alloc();
  stream_ = avformat_new_stream(format_, nullptr);
  if (stream_ == nullptr) throw std::bad_alloc();
  webp_->describe(*stream_);
}

void MediaFile::choose_stream() {
  std::string seen;
  bool picture = false;
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    AVStream* stream = format_->streams[i];
    const AVCodecParameters& codec = *stream->codecpar;
    stream->discard = AVDISCARD_ALL;
    const char* type = av_get_media_type_string(codec.codec_type);
    seen += (seen.empty() ? "" : ", ") + std::string(type != nullptr ? type : "data") + " " +
            avcodec_get_name(codec.codec_id);
    if (codec.codec_type != AVMEDIA_TYPE_VIDEO) continue;
    if ((stream->disposition & (AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS)) != 0) {
      picture = true;
    } else if (stream_ == nullptr || ((stream->disposition & AV_DISPOSITION_DEFAULT) != 0 &&
                                      (stream_->disposition & AV_DISPOSITION_DEFAULT) == 0)) {
      stream_ = stream;
    }
  }
  ZT_REQUIRE(stream_ != nullptr,
             picture ? "only an attached picture (cover art), no video" : "no video stream",
             " (streams: ", seen.empty() ? "none" : seen, ")");
  stream_->discard = AVDISCARD_DEFAULT;
}

void MediaFile::open_decoder() {
  libav::LogCatcher log;
  const AVCodecParameters& parameters = *stream_->codecpar;
  bytes_.meter->require_size(parameters.width, parameters.height);
  const AVCodec* codec = avcodec_find_decoder(parameters.codec_id);
  ZT_REQUIRE(codec != nullptr, "no decoder for ", avcodec_get_name(parameters.codec_id),
             " in this build of libavcodec");
  decoder_.reset(avcodec_alloc_context3(codec));
  if (!decoder_) throw std::bad_alloc();
  libav::require(avcodec_parameters_to_context(decoder_.get(), &parameters), "stream parameters");
  // One thread: damaged streams decode differently with each other count, and clips run in parallel anyway.
  decoder_->thread_count = 1;
  decoder_->pkt_timebase = stream_->time_base;
  // Streams that don't state their reorder depth then come out in order from the first frame on.
  if (codec->id == AV_CODEC_ID_H264) decoder_->strict_std_compliance = FF_COMPLIANCE_STRICT;
  decoder_->max_pixels = bytes_.meter->limits().max_pixels;
  pictures_.serve(*decoder_);
  const int code = avcodec_open2(decoder_.get(), codec, nullptr);
  if (code < 0) fail(code, join_message("can't open the decoder ", codec->name), log);
  decoding_times_only_ = container_ == "avi" && parameters.video_delay > 0;
}

bool MediaFile::read(AVPacket& packet, std::string& error) {
  if (location_.is_pictures()) return read_picture(packet);
  if (webp_) return webp_->read(packet, error);
  libav::LogCatcher log;
  for (;;) {
    av_packet_unref(&packet);
    const int code = av_read_frame(format_, &packet);
    bytes_.meter->check();
    if (code == AVERROR(EAGAIN)) continue;
    if (code < 0) {
      error = log.take();
      if (error.empty() && code != AVERROR_EOF) error = libav::error_text(code);
      if (error.empty() && reader_->error < 0) error = libav::error_text(reader_->error);
      return false;
    }
    bytes_.meter->count_packet();
    if (packet.stream_index == stream_->index) return true;
  }
}

int64_t MediaFile::clock_period() const {
  const int bits = stream_->pts_wrap_bits;
  return bits > 0 && bits < 62 ? int64_t(1) << bits : 0;
}

bool MediaFile::seek(int64_t timestamp) {
  libav::LogCatcher log;
  avcodec_flush_buffers(decoder_.get());
  return avformat_seek_file(format_, stream_->index, INT64_MIN, timestamp, timestamp, 0) >= 0;
}

/// The first picture was opened as a file; the timeline is that of all of them.
void MediaFile::become_pictures() {
  ZT_REQUIRE(still_, "its pictures are videos");
  ZT_REQUIRE(location_.picture_fps > 0,
             "the rate of its pictures is unknown; say --picture-fps, or give a column fps in the table");
  ZT_REQUIRE(location_.picture_fps >= 0.001 && location_.picture_fps <= 1000, "its pictures are said to be ",
             location_.picture_fps, " per second, expected 0.001 to 1000");
  const Ratio rate = ratio_of_fps(location_.picture_fps);
  still_ = false;
  declares_exactly_ = true;
  stream_->time_base = {int(rate.den), int(rate.num)};
  stream_->avg_frame_rate = {int(rate.num), int(rate.den)};
  stream_->nb_frames = int64_t(location_.pictures.size());
  stream_->start_time = 0;
  stream_->duration = stream_->nb_frames;
  format_->start_time = format_->duration = AV_NOPTS_VALUE;
}

/// A picture is a packet; one that can't be read is a damaged packet.
bool MediaFile::read_picture(AVPacket& packet) {
  constexpr int64_t kMostBytes = int64_t(1) << 30;
  av_packet_unref(&packet);
  if (next_picture_ == location_.pictures.size()) return false;
  bytes_.meter->count_packet();
  std::string bytes;
  bool good = true;
  try {
    bytes = zoetrope::read_bytes(location_.path + "/" + location_.pictures[next_picture_], kMostBytes);
  } catch (const Error&) { good = false; }
  if (bytes.empty()) {
    good = false;
    bytes.assign(1, '\0');  // an empty packet would mean the end
  }
  if (av_new_packet(&packet, int(bytes.size())) < 0) throw std::bad_alloc();
  std::memcpy(packet.data, bytes.data(), bytes.size());
  packet.pts = packet.dts = int64_t(next_picture_++);
  packet.duration = 1;
  packet.stream_index = stream_->index;
  packet.flags = AV_PKT_FLAG_KEY | (good ? 0 : AV_PKT_FLAG_CORRUPT);
  return true;
}

int64_t count_frames(const MediaLocation& location) {
  if (location.is_pictures()) return int64_t(location.pictures.size());
  WorkMeter meter(DecodeLimits{}, 3600);
  MediaFile file(location, meter);
  const libav::Packet packet = libav::new_packet();
  int64_t count = 0;
  for (std::string error; file.read(*packet, error);) {
    // A VP8 frame says in its first byte whether it is shown at all.
    const bool hidden =
        file.decoder().codec_id == AV_CODEC_ID_VP8 && packet->size > 0 && (packet->data[0] & 0x10) == 0;
    count += (packet->flags & AV_PKT_FLAG_DISCARD) == 0 && !hidden;
  }
  return count;
}

SourceFacts MediaFile::facts() const {
  SourceFacts facts;
  facts.container = location_.is_pictures() ? "pictures" : container_;
  facts.codec = webp_ ? "webp" : avcodec_get_name(stream_->codecpar->codec_id);
  facts.declared = stream_->nb_frames > 0 ? stream_->nb_frames : -1;
  facts.time_base = {stream_->time_base.num, stream_->time_base.den};
  facts.width = stream_->codecpar->width;
  facts.height = stream_->codecpar->height;
  const AVRational rate = stream_->avg_frame_rate.num > 0 ? stream_->avg_frame_rate : stream_->r_frame_rate;
  facts.average_fps = rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0;
  facts.stream_start = seconds(stream_->start_time, stream_->time_base);
  facts.stream_duration = seconds(stream_->duration, stream_->time_base);
  facts.container_start = seconds(format_->start_time, {1, AV_TIME_BASE});
  facts.container_duration = seconds(format_->duration, {1, AV_TIME_BASE});
  for (unsigned i = 0; i < format_->nb_streams; ++i)
    if (format_->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO)
      facts.audio_duration = seconds(format_->streams[i]->duration, format_->streams[i]->time_base);
  return facts;
}

}  // namespace zoetrope
