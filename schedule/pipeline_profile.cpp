// The sizes of micro-batches that leave pipelines the least bubble.
#include "schedule/pipeline_profile.h"

#include <algorithm>
#include <numeric>

namespace zoetrope {
namespace {

// Note [Ramps]
// Equal micro-batches pay the bubble (p - 1)(f + b): filling the pipeline with the first one's forwards and
// draining it of the last one's backwards. Small first and last ones pay less, but a stage must not wait in
// between: while a large micro-batch passes the other stages a stage has the forwards of the p - 1 that
// follow and the backwards of the p - 1 before. For a first share f of the time and sizes w this gives
//     E >= (p - 1) f w_j - (1 - f) (w_{j-p+1} + ... + w_{j-1})      while sizes grow,
//     E >= (p - 1) (1 - f) w_j - f (w_{j+1} + ... + w_{j+p-1})      while they fall,
// E the makespan above the work (Note [Pipeline bound] has the paths). So sizes can grow by about a quarter
// per micro-batch (8 stages, f = 1/3) from next to nothing, and fall along a slow curve to a size after which
// the drain leaves room for a few ever smaller ones. The search starts from profiles made of these two
// recursions with different E and goes down the makespan's subgradient: how much of each micro-batch lies on
// the critical path. All in integers: sizes are shares of 2^32.

/// The makespan of sizes on one pipeline; times are in units of a share of the work by a part of the shape.
class OnePipeline {
 public:
  OnePipeline(const PipelineShape& shape, int64_t num_waves)
      : forward_(shape.forward_parts),
        backward_(shape.backward_parts + shape.recompute_parts),
        ops_(one_forward_one_backward(shape.num_stages, num_waves)),
        end_(ops_.size()) {}

  int64_t parts() const { return forward_ + backward_; }
  int64_t run(const std::vector<int64_t>& sizes) {
    int64_t total = 0;
    for (size_t i = 0; i < ops_.size(); ++i) {
      const PipelineOp& op = ops_[i];
      int64_t start = op.before >= 0 ? end_[size_t(op.before)] : 0;
      if (op.input >= 0) start = std::max(start, end_[size_t(op.input)]);
      end_[i] = start + sizes[size_t(op.wave)] * (op.backward ? backward_ : forward_);
      total = std::max(total, end_[i]);
    }
    return total;
  }
  /// Parts of each micro-batch on a critical path of the last run.
  void critical(std::vector<int64_t>& parts) const {
    std::fill(parts.begin(), parts.end(), 0);
    int64_t at = std::max_element(end_.begin(), end_.end()) - end_.begin();
    while (at >= 0) {
      const PipelineOp& op = ops_[size_t(at)];
      parts[size_t(op.wave)] += op.backward ? backward_ : forward_;
      const int64_t before = op.before >= 0 ? end_[size_t(op.before)] : -1;
      const int64_t input = op.input >= 0 ? end_[size_t(op.input)] : -1;
      at = before > input ? op.before : op.input;
    }
  }

 private:
  int64_t forward_, backward_;
  std::vector<PipelineOp> ops_;
  std::vector<int64_t> end_;
};

/// What a start profile is made of: E while sizes grow and fall, as shares of the plateau in 1/1024.
struct Ramps {
  int64_t up = 0, down = 0;
  int64_t tail = 0;  ///< so many ever smaller ones at the end
};
constexpr int64_t kPlateau = int64_t(1) << 24;

/// Appends to `ramp` sizes below the plateau by the recursion E = count own w - other (last count of them).
void grow(std::vector<int64_t>& ramp, int64_t excess, int64_t own, int64_t other, int64_t count,
          size_t most) {
  const size_t first = ramp.size();
  int64_t window = 0;
  while (ramp.size() < most) {
    const int64_t size = (excess + other * window) / (own * count);
    if (size >= kPlateau || size < 1) return;
    ramp.push_back(size);
    window += size;
    if (ramp.size() - first >= size_t(count)) window -= ramp[ramp.size() - size_t(count)];
  }
}

class ProfileSearch {
 public:
  ProfileSearch(const PipelineShape& shape, int64_t num_waves, int64_t largest, int64_t cap)
      : shape_(shape),
        num_waves_(size_t(num_waves)),
        largest_(largest),
        cap_(std::max(cap, kProfileWork / num_waves + 1)),
        pipeline_(shape, num_waves) {}

  PipelineProfile search() {
    start(std::vector<int64_t>(num_waves_, kProfileWork / int64_t(num_waves_)));
    for (int64_t up = 16; up <= 2048; up = up * 8 / 5)
      for (int64_t down = 256; down <= 1024 * shape_.num_stages; down = down * 6 / 5)
        for (int64_t tail : {int64_t(0), shape_.num_stages / 2}) start(from_ramps({up, down, tail}));
    descend();
    // The work over the makespan.
    const __int128 work = static_cast<__int128>(kProfileWork) * pipeline_.parts();
    return {best_, int64_t((work << 20) / best_time_)};
  }

 private:
  std::vector<int64_t> from_ramps(const Ramps& ramps) const {
    const int64_t forward = shape_.forward_parts, count = std::max<int64_t>(1, shape_.num_stages - 1);
    const int64_t backward = shape_.backward_parts + shape_.recompute_parts, parts = forward + backward;
    std::vector<int64_t> up, down;
    const int64_t down_excess = kPlateau / 1024 * ramps.down * parts;
    for (int64_t i = 0; i < ramps.tail; ++i)
      down.push_back(down_excess / (backward * count) * (2 * i + 1) / (2 * ramps.tail));
    grow(down, down_excess, backward, forward, count, num_waves_);
    grow(up, kPlateau / 1024 * ramps.up * parts, forward, backward, count, num_waves_);
    const int64_t wanted = int64_t(static_cast<__int128>(kProfileWork) * kPlateau / plateau());
    int64_t sum = 0;
    for (int64_t size : up) sum += size;
    for (int64_t size : down) sum += size;
    const int64_t room = int64_t(num_waves_) - int64_t(up.size() + down.size());
    const int64_t level = std::clamp<int64_t>((wanted - sum) / kPlateau, 1, std::max<int64_t>(1, room));
    std::vector<int64_t> sizes = up;
    sizes.insert(sizes.end(), size_t(level), kPlateau);
    sizes.insert(sizes.end(), down.rbegin(), down.rend());
    if (sizes.size() > num_waves_) sizes.erase(sizes.begin(), sizes.end() - int64_t(num_waves_));
    sizes.insert(sizes.begin(), num_waves_ - sizes.size(), 0);
    sum = std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
    for (int64_t& size : sizes) size = int64_t(static_cast<__int128>(size) * kProfileWork / sum);
    return sizes;
  }
  int64_t plateau() const { return std::max<int64_t>(1, std::min(largest_, cap_)); }

  /// Takes sizes as the best when they are feasible after the bounds are kept, and faster.
  void start(std::vector<int64_t> sizes) {
    const size_t giant = size_t(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
    for (int round = 0; round < 3; ++round) keep_bounds(sizes, giant, false);
    keep_bounds(sizes, giant, true);
    take(sizes, giant);
  }
  bool take(const std::vector<int64_t>& sizes, size_t giant) {
    const int64_t time = pipeline_.run(sizes);
    if (!best_.empty() && time >= best_time_) return false;
    best_ = sizes;
    best_time_ = time;
    giant_ = giant;
    return true;
  }
  /// Clamps sizes to their bounds; what the sum lacks goes to all alike, or (last) to scale.
  void keep_bounds(std::vector<int64_t>& sizes, size_t giant, bool last) const {
    int64_t sum = 0;
    for (size_t i = 0; i < num_waves_; ++i) {
      sizes[i] = std::clamp<int64_t>(sizes[i], i == giant ? largest_ : 0,
                                     i == giant ? std::max(largest_, cap_) : cap_);
      sum += sizes[i];
    }
    const int64_t lacking = (kProfileWork - sum) / int64_t(num_waves_);
    for (int64_t& size : sizes)
      size = last ? int64_t(static_cast<__int128>(size) * kProfileWork / std::max<int64_t>(1, sum))
                  : size + lacking;
  }
  void descend() {
    std::vector<int64_t> sizes = best_, parts(num_waves_);
    int64_t gap = 20, since = 0;  // 1/1024 of the time that a step aims at
    const int64_t count = int64_t(num_waves_);
    const int64_t rounds = std::clamp<int64_t>(2'000'000 / (count * shape_.num_stages * 2), 50, 500);
    for (int64_t round = 0; round < rounds && gap > 0; ++round) {
      if (take(sizes, giant_)) since = 0;
      else if (++since > 20) {
        gap = gap * 7 / 10;
        since = 0;
        sizes = best_;
        pipeline_.run(sizes);
      }
      pipeline_.critical(parts);
      const int64_t sum = std::accumulate(parts.begin(), parts.end(), int64_t(0));
      __int128 square = 1;
      for (int64_t part : parts) {
        const __int128 off = static_cast<__int128>(part) * count - sum;
        square += off * off;
      }
      const __int128 step = static_cast<__int128>(best_time_ / 1024 * gap) * count;
      for (size_t i = 0; i < num_waves_; ++i)
        sizes[i] -= int64_t(step * (static_cast<__int128>(parts[i]) * count - sum) / square);
      for (int again = 0; again < 3; ++again) keep_bounds(sizes, giant_, false);
      keep_bounds(sizes, giant_, true);
    }
  }

  PipelineShape shape_;
  size_t num_waves_;
  int64_t largest_, cap_;
  OnePipeline pipeline_;
  std::vector<int64_t> best_;
  int64_t best_time_ = 0;
  size_t giant_ = 0;
};

}  // namespace

PipelineProfile pipeline_profile(const PipelineShape& shape, int64_t num_waves, int64_t largest,
                                 int64_t cap) {
  return ProfileSearch(shape, num_waves, largest, cap).search();
}

}  // namespace zoetrope
