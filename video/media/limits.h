// What decoding one file may cost. Used by video/media and video/ingest.
//
// Note [limits and clocks]: a verdict must be the same on a busy machine and on an idle one, so the limits
// that refuse a file count packets, frames and bytes alone, and are part of a data set's rules. The clock is
// a watchdog: a file that it stops gets no verdict and stays undecided for the next run. So does a file for
// which the machine's memory didn't suffice.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/check.h"

namespace zoetrope {

/// Limits that decide a verdict. The defaults are far above what a clip for training needs, and low enough to
/// end in hours on the worst file.
struct DecodeLimits {
  int64_t max_packets = 1 << 22;          ///< of all streams: 12 hours of video with sound
  int64_t max_frames = 1 << 22;           ///< 19 hours at 60 frames per second
  int64_t max_pixels = 1 << 26;           ///< two pictures of 8K in one
  int64_t max_decoded_gigabytes = 16384;  ///< an hour of 8K at 60 frames per second
  int64_t max_rereads = 64;  ///< a sound file is read once, one with scattered streams a few times over

  void visit(auto&& field) {
    field("max-packets", max_packets, "a file of more packets is refused, or its counts stop there");
    field("max-frames", max_frames, "a file is refused when its clips need more decoded frames");
    field("max-pixels", max_pixels, "pictures of more pixels are refused");
    field("max-decoded-gigabytes", max_decoded_gigabytes,
          "a file is refused when its clips need more bytes of decoded pictures");
    field("max-rereads", max_rereads, "a file is refused when its bytes must be read more often, on average");
  }
};

/// As one JSON object, for the rules of a data set.
std::string limits_json(const DecodeLimits& limits);
/// Throws: UsageError for limits that nothing could meet.
void check_limits(const DecodeLimits& limits);

/// One of the limits was reached: the reason to refuse the file.
class LimitReached : public Error {
 public:
  using Error::Error;
};
/// A file that can be recognised, but is broken: the reason to refuse it.
class DamagedFile : public Error {
 public:
  using Error::Error;
};
/// No verdict: the watchdog or a lack of memory stopped the work.
class Undecided : public Error {
 public:
  using Error::Error;
};

/// Counts what one file costs.
class WorkMeter {
 public:
  /// Units: `clip_seconds` of wall clock, from now on.
  WorkMeter(const DecodeLimits& limits, double clip_seconds);

  /// Reads of all bytes of a file are measured against its size.
  void set_file_bytes(int64_t bytes) { file_bytes_ = bytes; }
  /// Counts before reading; false when nothing more may be read, and `check` then throws. For callbacks of C
  /// code, which no exception may pass.
  bool may_read(int64_t bytes);
  /// Whether the watchdog's time is up.
  bool is_late() const { return std::chrono::steady_clock::now() >= deadline_; }
  /// Counts a packet of any stream. Throws: LimitReached, Undecided.
  void count_packet();
  /// Counts a decoded picture. Throws: LimitReached, Undecided.
  void count_frame(int64_t bytes);
  /// Throws: LimitReached for a picture that is too big.
  void require_size(int64_t width, int64_t height) const;
  /// Throws: LimitReached, Undecided when a limit was reached that only stopped a callback.
  void check() const;
  const DecodeLimits& limits() const { return limits_; }

 private:
  DecodeLimits limits_;
  double clip_seconds_;
  std::chrono::steady_clock::time_point deadline_;
  int64_t file_bytes_ = 0, bytes_read_ = 0, packets_ = 0, frames_ = 0, decoded_bytes_ = 0;
};

/// The most that libav may allocate at once; what asks for more fails as a damaged file does.
constexpr int64_t kLargestAllocation = int64_t(1) << 30;
/// Whether the machine can't give `kLargestAllocation` bytes: a failed allocation then says nothing about the
/// file.
bool memory_is_short();

}  // namespace zoetrope
