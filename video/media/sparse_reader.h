// Single frames of a file that was indexed, in presentation order, over groups of pictures that nobody wants.
// Whatever does not follow the index word for word ends the reading, and the file is decoded from its start.
// Used by video/media/file_decoder.
//
// Note [where a seek lands]: asked for the time of a frame, libavformat lands after it, or on a frame that
// can't be decoded, in many healthy files. Asked for the decoding time of the frame's key frame, and for
// nothing later, it lands on that key frame in flv and ts, and in mp4, mov, mkv and webm on it or on the one
// before: their demuxers look for the time at which it is shown, so that is asked for first. The first packet
// is compared with the index, and so is every later one.
#pragma once

#include <cstdint>

#include "video/media/frame_index.h"

namespace zoetrope {

class SparseReader {
 public:
  SparseReader(MediaFile& file, const FrameIndex& index);
  /// Decodes presented frame `frame`; later calls ask for later frames. False: the file does not do what its
  /// index says, or a picture between is damaged.
  bool read(int64_t frame, AVFrame& out);
  /// Whether `read` would go to the frame's key frame by a seek, standing behind packet `order`.
  static bool jumps(const FrameIndex& index, int64_t frame, int64_t order, int delay);
  int64_t num_decoded() const { return decoded_; }
  int64_t num_jumps() const { return jumps_; }

 private:
  bool seek(int64_t key);
  bool send_next();
  bool land(int64_t key, int64_t timestamp);
  bool has_size_of(const IndexedPacket& packet) const;
  bool is_expected(const AVFrame& frame);

  MediaFile& file_;
  const FrameIndex& index_;
  libav::Packet packet_;
  int64_t next_packet_ = -1;  ///< in decoding order; -1 before the first seek
  int64_t next_frame_ = 0;    ///< presented frame that the decoder gives next
  int64_t first_tick_ = 0;    ///< of the key frame sought last: what is shown before it may lack references
  bool waiting_ = false;      ///< the packet that a seek landed on is not sent yet
  bool at_key_ = false;       ///< the key frame sought last has not come out of the decoder yet
  int64_t decoded_ = 0, jumps_ = 0;
};

}  // namespace zoetrope
