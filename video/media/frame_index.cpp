#include "video/media/frame_index.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/check.h"

namespace zoetrope {
namespace {

constexpr size_t kMostPackets = size_t(1) << 21;  // nineteen hours at 30 fps, 80 MB

/// Whether a packet holds a picture that is never shown, which VP8 and VP9 may put into packets of their own.
/// Source: RFC 6386 section 9.1; VP9 bitstream specification sections 6.2 and annex B.
bool is_hidden(AVCodecID codec, const AVPacket& packet) {
  if (packet.size < 2) return false;
  const unsigned first = packet.data[0], last = packet.data[packet.size - 1];
  if (codec == AV_CODEC_ID_VP8) return (first >> 4 & 1) == 0;
  if (codec != AV_CODEC_ID_VP9 || (last & 0xe0) == 0xc0) return false;  // a superframe shows its last picture
  const unsigned bits = first << 8 | packet.data[1];                    // marker 2, profile 2, ...
  const unsigned profile = (bits >> 13 & 1) | (bits >> 12 & 1) << 1, skipped = profile == 3 ? 5 : 4;
  const bool shows_existing = (bits >> (15 - skipped) & 1) != 0;
  return !shows_existing && (bits >> (13 - skipped) & 1) == 0;
}

/// What a start code's byte begins, in a stream whose parameters lie among its pictures.
enum class Unit { kHeader, kPicture, kOther };

Unit unit_of(AVCodecID codec, unsigned byte) {
  if (codec == AV_CODEC_ID_H264) {
    const unsigned type = byte & 0x1f;
    return type == 7 || type == 8 ? Unit::kHeader : type >= 1 && type <= 5 ? Unit::kPicture : Unit::kOther;
  }
  if (codec == AV_CODEC_ID_HEVC) {
    const unsigned type = byte >> 1 & 0x3f;
    return type >= 32 && type <= 34 ? Unit::kHeader : type < 32 ? Unit::kPicture : Unit::kOther;
  }
  // MPEG-1 and MPEG-2: sequence header, picture.
  return byte == 0xb3 ? Unit::kHeader : byte == 0 ? Unit::kPicture : Unit::kOther;
}

/// The headers before a packet's picture, each with its bytes.
std::vector<std::string> headers_of(AVCodecID codec, const AVPacket& packet) {
  std::vector<std::string> headers;
  const std::string_view bytes(reinterpret_cast<const char*>(packet.data), size_t(packet.size));
  constexpr std::string_view kStart("\0\0\1", 3);
  for (size_t at = std::min(bytes.find(kStart), bytes.size()); at + 3 < bytes.size();) {
    const Unit unit = unit_of(codec, static_cast<unsigned char>(bytes[at + 3]));
    if (unit == Unit::kPicture) break;
    const size_t next = std::min(bytes.find(kStart, at + 3), bytes.size());
    std::string content(bytes.substr(at + 3, next - at - 3));
    while (!content.empty() && content.back() == 0) content.pop_back();
    if (unit == Unit::kHeader) headers.push_back(std::move(content));
    at = next;
  }
  return headers;
}

}  // namespace

FrameIndex::FrameIndex(MediaFile& file) {
  const AVCodecID codec = file.stream().codecpar->codec_id;
  std::set<std::string> first_headers;
  const libav::Packet packet = libav::new_packet();
  while (packets_.size() <= kMostPackets && file.read(*packet, end_error_)) {
    const AVPacket& p = *packet;
    found_hidden_ = found_hidden_ || is_hidden(codec, p);
    found_corrupt_ = found_corrupt_ || (p.flags & AV_PKT_FLAG_CORRUPT) != 0;
    if (file.has_no_header())
      for (std::string& header : headers_of(codec, p)) {
        if (packets_.empty()) first_headers.insert(std::move(header));
        else found_new_header_ = found_new_header_ || first_headers.count(header) == 0;
      }
    packets_.push_back({p.pts, p.dts, p.duration, p.pos, p.size, (p.flags & AV_PKT_FLAG_KEY) != 0,
                        (p.flags & AV_PKT_FLAG_DISCARD) != 0});
  }
  for (size_t i = 0; i < packets_.size(); ++i) {
    if (!packets_[i].discard) presented_.push_back(int64_t(i));
    if (packets_[i].key) keys_.push_back(int64_t(i));
  }
  std::stable_sort(presented_.begin(), presented_.end(),
                   [&](int64_t a, int64_t b) { return packets_[size_t(a)].pts < packets_[size_t(b)].pts; });
  linear_reason_ = find_linear_reason(file);
}

std::string FrameIndex::find_linear_reason(const MediaFile& file) const {
  if (packets_.size() > kMostPackets) return join_message("it has more than ", kMostPackets, " packets");
  if (!end_error_.empty()) return "it ends early: " + end_error_;
  if (file.declares_exactly() && file.stream().nb_frames > int64_t(packets_.size()))
    return "it has fewer packets than its header declares";
  if (found_corrupt_) return "it holds damaged packets";
  if (found_new_header_) return "parameters of the stream that change";
  if (found_hidden_) return "it holds pictures that are never shown";
  if (presented_.empty() || keys_.empty()) return "it has no frame to start at";
  std::vector<int64_t> times;
  for (const IndexedPacket& packet : packets_) {
    if (packet.pts == AV_NOPTS_VALUE || (packet.dts == AV_NOPTS_VALUE && !file.may_lack_decoding_times()))
      return "packets without timestamps";
    times.push_back(packet.pts);
  }
  std::sort(times.begin(), times.end());
  if (std::adjacent_find(times.begin(), times.end()) != times.end()) return "packets of equal timestamps";
  for (size_t i = 1; i < packets_.size(); ++i)
    if (packets_[i].dts <= packets_[i - 1].dts && !file.may_lack_decoding_times())
      return "decoding times that don't grow";
  const int64_t period = file.clock_period();
  for (size_t i = 1; i < packets_.size() && period > 0; ++i)
    if (packets_[i].dts - packets_[i - 1].dts > period / 2) return "timestamps that start over";
  for (size_t i = 1; i < keys_.size(); ++i)
    if (packets_[size_t(keys_[i])].pts < packets_[size_t(keys_[i - 1])].pts) return "key frames out of order";
  if (tick(0) < packets_[size_t(keys_[0])].pts) return "frames before the first key frame";
  for (int64_t i = 0; i < num_frames(); ++i)
    if (order(i) < key_of(i)) return "frames shown after a key frame that follows them";
  return "";
}

int64_t FrameIndex::key_of(int64_t frame) const {
  const auto after =
      std::upper_bound(keys_.begin(), keys_.end(), tick(frame),
                       [&](int64_t tick, int64_t key) { return tick < packets_[size_t(key)].pts; });
  return *std::prev(after);
}

int64_t FrameIndex::first_frame_at(int64_t tick) const {
  const auto found =
      std::lower_bound(presented_.begin(), presented_.end(), tick,
                       [&](int64_t order, int64_t t) { return packets_[size_t(order)].pts < t; });
  return found - presented_.begin();
}

}  // namespace zoetrope
