// A local media file (or a part of one, or a folder of pictures as frames) opened through libav: one video
// stream, packets in file order, one decoder with one thread. Nothing but the file itself can be opened: data
// comes through our own reader, every nested open is refused, and only self-contained formats are allowed.
// Used by video/media/decode.
#pragma once

#include <memory>
#include <string>

#include "video/media/animated_webp.h"
#include "video/media/libav.h"
#include "video/media/limits.h"
#include "video/media/media_location.h"
#include "video/media/picture_memory.h"
#include "video/store/manifest.h"

namespace zoetrope {

class MediaFile {
 public:
  /// Opens the file and its decoder. All work is counted by `meter`, which must outlive this.
  /// Throws: Error whose text is the reason to refuse the file; DamagedFile, LimitReached, Undecided.
  MediaFile(const MediaLocation& location, WorkMeter& meter);
  ~MediaFile();
  MediaFile(const MediaFile&) = delete;
  MediaFile& operator=(const MediaFile&) = delete;

  /// Next packet of the video stream; false at the end. `error` is set when the file ends other than by its
  /// end. Throws: LimitReached, Undecided.
  bool read(AVPacket& packet, std::string& error);
  /// Formats in which a key frame is found by its time; `SparseReader` checks what is found.
  bool can_seek() const { return can_seek_; }
  /// The demuxer looks for the time at which a key frame is shown, not for the one at which it is decoded.
  bool seeks_by_presentation() const { return seeks_by_presentation_; }
  /// Its streams' parameters lie among the pictures alone, and may change there.
  bool has_no_header() const { return container_ == "mpegts"; }
  /// Goes to the last key frame that is not after `timestamp`, as far as the format can tell, and empties the
  /// decoder. False when the format finds none.
  bool seek(int64_t timestamp);
  /// The first packets may lack decoding times, which the container does not store.
  bool may_lack_decoding_times() const { return container_ == "matroska"; }
  /// Ticks after which the container's clock starts again from 0; 0 when it has no such end.
  int64_t clock_period() const;
  AVStream& stream() const { return *stream_; }
  AVCodecContext& decoder() const { return *decoder_; }
  /// A still picture: one frame, without a place in time.
  bool is_still() const { return still_; }
  /// The container stores decoding times alone and frames are reordered: the n-th presented frame is then
  /// shown at the n-th decoding time.
  bool has_decoding_times_only() const { return decoding_times_only_; }
  /// Formats whose header gives the exact number of frames, so that fewer mean a cut file.
  bool declares_exactly() const { return declares_exactly_; }
  /// Container, codec, header's counts and clocks.
  SourceFacts facts() const;

 private:
  void close_all();
  void probe(const std::string& path);
  void open_demuxer(const std::string& path, const AVInputFormat& found);
  void open_webp();
  void become_pictures();
  bool read_picture(AVPacket& packet);
  void choose_stream();
  void open_decoder();

  [[noreturn]] void fail(int code, const std::string& what, libav::LogCatcher& log) const;

  struct Bytes {
    int file = -1;
    int64_t begin = 0, end = 0, at = 0;  ///< the part of the file, and where the next read begins
    WorkMeter* meter = nullptr;
  };
  static int read_bytes(void* bytes, uint8_t* buffer, int size);
  static int64_t seek_bytes(void* bytes, int64_t offset, int whence);

  Bytes bytes_;
  std::string container_;  ///< libav's name of the format
  std::unique_ptr<AnimatedWebp> webp_;
  MediaLocation location_;
  size_t next_picture_ = 0;
  AVIOContext* reader_ = nullptr;
  AVFormatContext* format_ = nullptr;
  AVStream* stream_ = nullptr;
  PictureMemory pictures_;
  libav::Codec decoder_;
  bool still_ = false, decoding_times_only_ = false, declares_exactly_ = false;
  bool can_seek_ = false, seeks_by_presentation_ = false;
};

/// Number of presented frames as the packets tell, without decoding. Throws: Error whose text is the reason
/// to refuse the file.
int64_t count_frames(const MediaLocation& location);

}  // namespace zoetrope
