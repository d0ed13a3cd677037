#include "video/analysis/frame_analyzer.h"

#include <algorithm>
#include <cmath>

namespace zoetrope {
namespace {

constexpr double kBlackShare = 0.98;        // blackdetect's picture threshold
constexpr double kFrozenLevels = 0.255;     // freezedetect's noise tolerance, -60 dB of 255
constexpr double kSharpnessSeconds = 0.25;  // between frames whose sharpness is computed
constexpr int kLeastQuality = 50;           // of a frame hash, as vPDQ has it

using Iterator = std::vector<FrameRecord>::const_iterator;
struct Range {
  Iterator begin, end;
};

Range range_of(const std::vector<FrameRecord>& records, int64_t first_index, int64_t last_index) {
  const auto before = [](const FrameRecord& record, int64_t index) { return record.index < index; };
  return {std::lower_bound(records.begin(), records.end(), first_index, before),
          std::lower_bound(records.begin(), records.end(), last_index + 1, before)};
}

/// Four decimals: as exact as any of these figures is worth, and the same text on every processor.
double rounded(double value) { return std::round(value * 1e4) / 1e4; }

/// A picture as it is shown. Thumbnails are square, so that it stays one.
Thumbnail turned(const Thumbnail& coded, const Orientation& turn) {
  if (turn == Orientation{}) return coded;
  Thumbnail out;
  const int64_t side = kThumbnailSide;
  for (int64_t y = 0; y < side; ++y)
    for (int64_t x = 0; x < side; ++x) {
      const int64_t row = turn.flip_y ? side - 1 - y : y, column = turn.flip_x ? side - 1 - x : x;
      out.pixels[size_t(y * side + x)] =
          coded.pixels[size_t(turn.swap ? column * side + row : row * side + column)];
    }
  return out;
}

/// The bars that all frames have but the black ones, which show none.
DarkBars common_bars(const Range& range) {
  DarkBars common;
  bool first = true;
  for (Iterator it = range.begin; it != range.end; ++it) {
    if (it->is_black) continue;
    const DarkBars& bars = it->bars;
    common = first ? bars
                   : DarkBars{std::min(common.left, bars.left), std::min(common.top, bars.top),
                              std::min(common.right, bars.right), std::min(common.bottom, bars.bottom)};
    first = false;
  }
  return common;
}

void set_motion(const Range& range, ClipScores& scores) {
  double differences = 0, frozen_seconds = 0;
  for (Iterator it = range.begin + 1; it < range.end; ++it) {
    differences += it->difference;
    if (it->difference < kFrozenLevels) frozen_seconds += it->seconds - (it - 1)->seconds;
  }
  const double seconds = (range.end - 1)->seconds - range.begin->seconds;
  if (seconds <= 0) return;
  scores.motion = rounded(differences / seconds);
  scores.frozen = rounded(frozen_seconds / seconds);
}

}  // namespace

void FrameAnalyzer::observe(const AVFrame& frame, const PresentedFrame& place) {
  if (!records_.empty() && place.index <= records_.back().index) {
    records_.clear();  // the decode started again
    next_sharpness_ = 0;
  }
  const LumaPlane plane = reader_.read(frame);
  FrameRecord record;
  record.index = place.index;
  record.seconds = place.time.value();
  record.width = plane.width;
  record.height = plane.height;
  const Thumbnail thumbnail = make_thumbnail(plane, {0, 0, plane.width, plane.height});
  record.difference = records_.empty() ? 0 : difference_of(thumbnail, last_);
  record.brightness = brightness_of(thumbnail);
  record.is_black = record.brightness.dark_share >= kBlackShare;
  record.combed = combed_share(plane);
  if (!record.is_black) record.bars = find_bars(plane);
  const bool has_bars = !(record.bars == DarkBars{});
  const Thumbnail shown =
      turned(has_bars ? make_thumbnail(plane, inside(plane, record.bars)) : thumbnail, place.turn);
  record.quality = hash_quality(shown);
  record.hash = hash_of(shown);
  if (record.seconds >= next_sharpness_) {
    record.sharpness = sharpness_of(plane);
    next_sharpness_ = (std::floor(record.seconds / kSharpnessSeconds) + 1) * kSharpnessSeconds;
  }
  last_ = thumbnail;
  records_.push_back(record);
}

ClipScores scores_of(const std::vector<FrameRecord>& records, int64_t first_index, int64_t last_index) {
  const Range range = range_of(records, first_index, last_index);
  ClipScores scores;
  if (range.begin == range.end) return scores;
  double brightness = 0, contrast = 0, combed = 0, sharpness = 0;
  int64_t black = 0, num_sharpness = 0;
  for (Iterator it = range.begin; it != range.end; ++it) {
    brightness += it->brightness.mean;
    contrast += it->brightness.deviation;
    combed += it->combed;
    black += it->is_black;
    if (it->sharpness < 0) continue;
    sharpness += it->sharpness;
    ++num_sharpness;
  }
  const double count = double(range.end - range.begin);
  scores.brightness = rounded(brightness / count);
  scores.contrast = rounded(contrast / count);
  scores.combed = rounded(combed / count);
  scores.black = rounded(double(black) / count);
  if (num_sharpness > 0) scores.sharpness = rounded(sharpness / double(num_sharpness));
  set_motion(range, scores);
  const DarkBars bars = common_bars(range);
  const double width = double(range.begin->width), height = double(range.begin->height);
  scores.bars = {bars.left, bars.top, bars.right, bars.bottom};
  scores.letterbox = rounded(1 - (1 - double(bars.left + bars.right) / width) *
                                     (1 - double(bars.top + bars.bottom) / height));
  return scores;
}

std::vector<std::string> second_hashes_of(const std::vector<FrameRecord>& records, int64_t first_index,
                                          int64_t last_index) {
  const Range range = range_of(records, first_index, last_index);
  std::vector<std::string> hashes;
  if (range.begin == range.end) return hashes;
  const auto later = [](double seconds, const FrameRecord& record) { return seconds < record.seconds; };
  // The frame shown half a second into each second; of a shorter clip its first frame.
  const double start = range.begin->seconds, end = (range.end - 1)->seconds;
  for (int64_t second = 0; second == 0 || start + double(second) + 0.5 <= end; ++second) {
    const double time = std::min(start + double(second) + 0.5, end);
    const Iterator shown = std::upper_bound(range.begin, range.end, time, later) - 1;
    if (shown->quality >= kLeastQuality) hashes.push_back(hash_text(shown->hash));
  }
  return hashes;
}

}  // namespace zoetrope
