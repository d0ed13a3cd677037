// What a file's packets say before anything is decoded: which frames are presented when, and from which key
// frame each can be decoded. Made by one pass of the demuxer; used by video/media/sparse_reader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "video/media/media_file.h"

namespace zoetrope {

/// A packet of the video stream.
struct IndexedPacket {
  int64_t pts = 0, dts = 0, duration = 0, pos = -1;
  int32_t size = 0;
  bool key = false;
  bool discard = false;  ///< decoded, but not presented: before an edit list's start or after its end
};

class FrameIndex {
 public:
  /// Reads all packets; the file then stands at its end. Cost: some 20 microseconds and 40 bytes a packet.
  explicit FrameIndex(MediaFile& file);

  /// Why frames can't be told from packets, so that the file is decoded from its start; empty when they can.
  const std::string& linear_reason() const { return linear_reason_; }
  /// In decoding order.
  const std::vector<IndexedPacket>& packets() const { return packets_; }
  /// Number of presented frames, and the tick and packet of one.
  int64_t num_frames() const { return int64_t(presented_.size()); }
  int64_t tick(int64_t frame) const { return packets_[size_t(order(frame))].pts; }
  int64_t order(int64_t frame) const { return presented_[size_t(frame)]; }
  /// The packet to start at to decode this frame: the last key frame, in presentation, that is not after it.
  int64_t key_of(int64_t frame) const;
  /// The first presented frame whose tick is not before `tick`.
  int64_t first_frame_at(int64_t tick) const;

 private:
  std::string find_linear_reason(const MediaFile& file) const;

  std::vector<IndexedPacket> packets_;
  std::vector<int64_t> presented_;  ///< packets of presented frames, in presentation order
  std::vector<int64_t> keys_;       ///< packets of key frames
  bool found_hidden_ = false, found_corrupt_ = false, found_new_header_ = false;
  std::string end_error_, linear_reason_;
};

}  // namespace zoetrope
