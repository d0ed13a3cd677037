#include "video/media/limits.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

namespace zoetrope {
namespace {

constexpr int64_t kGigabyte = 1000000000;
constexpr int64_t kFreeReads = 64 << 20;  // probing reads small files several times over

/// Ends some hundred years from now at the latest: within what the clock can count.
std::chrono::steady_clock::time_point after(double seconds) {
  const std::chrono::duration<double> wait(std::clamp(seconds, 0.0, 3e9));
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(wait);
}

}  // namespace

std::string limits_json(const DecodeLimits& limits) {
  DecodeLimits copy = limits;
  nlohmann::ordered_json json;
  copy.visit([&](const char* name, int64_t& value, const char*) { json[name] = value; });
  return json.dump();
}

void check_limits(const DecodeLimits& limits) {
  DecodeLimits copy = limits;
  copy.visit([](const char* name, int64_t& value, const char*) {
    if (value < 1) throw UsageError(join_message("--", name, " ", value, ": expected at least 1"));
  });
  // Beyond this libav's own arithmetic on picture sizes ends.
  if (limits.max_pixels > INT32_MAX)
    throw UsageError(join_message("--max-pixels ", limits.max_pixels, ": expected at most ", INT32_MAX));
  if (limits.max_decoded_gigabytes > INT64_MAX / kGigabyte || limits.max_rereads > 1000000)
    throw UsageError(join_message("--max-decoded-gigabytes ", limits.max_decoded_gigabytes,
                                  ", --max-rereads ", limits.max_rereads, ": expected at most ",
                                  INT64_MAX / kGigabyte, " and 1000000"));
}

WorkMeter::WorkMeter(const DecodeLimits& limits, double clip_seconds)
    : limits_(limits), clip_seconds_(clip_seconds), deadline_(after(clip_seconds)) {}

bool WorkMeter::may_read(int64_t bytes) {
  bytes_read_ += bytes;
  return bytes_read_ <= kFreeReads + file_bytes_ * limits_.max_rereads && !is_late();
}

void WorkMeter::check() const {
  if (is_late())
    throw Undecided(join_message("the watchdog stopped it after ", clip_seconds_, " s (--clip-seconds)"));
  if (bytes_read_ > kFreeReads + file_bytes_ * limits_.max_rereads)
    throw LimitReached(join_message("its ", file_bytes_, " bytes had to be read more than ",
                                    limits_.max_rereads, " times over (--max-rereads)"));
}

void WorkMeter::count_packet() {
  check();
  if (++packets_ > limits_.max_packets)
    throw LimitReached(join_message("more than ", limits_.max_packets, " packets (--max-packets)"));
}

void WorkMeter::count_frame(int64_t bytes) {
  check();
  decoded_bytes_ += bytes;
  if (++frames_ > limits_.max_frames)
    throw LimitReached(
        join_message("needs more than ", limits_.max_frames, " decoded frames (--max-frames)"));
  if (decoded_bytes_ > limits_.max_decoded_gigabytes * kGigabyte)
    throw LimitReached(join_message("needs more than ", limits_.max_decoded_gigabytes,
                                    " GB of decoded pictures (--max-decoded-gigabytes)"));
}

void WorkMeter::require_size(int64_t width, int64_t height) const {
  if (width > 0 && height > limits_.max_pixels / width)
    throw LimitReached(join_message("pictures of ", width, "x", height, ", more than ", limits_.max_pixels,
                                    " pixels (--max-pixels)"));
}

bool memory_is_short() {
  // Volatile, so that the pair of calls can't be left out.
  void* volatile taken = ::operator new(size_t(kLargestAllocation), std::nothrow);
  const bool is_short = taken == nullptr;
  ::operator delete(taken);
  return is_short;
}

}  // namespace zoetrope
