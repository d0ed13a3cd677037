// Lays samples into waves of wanted sizes.
#include "schedule/pipeline_pack.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "schedule/bound.h"
#include "schedule/even_shards.h"
#include "schedule/ring_price.h"

namespace zoetrope {
namespace {

/// A wave in the making: what each slot has left.
struct OpenWave {
  std::vector<int64_t> time, tokens, segments;  ///< by slot; time may fall below zero
  int64_t total_time = 0, total_tokens = 0;     ///< of slots that may take a segment
  int64_t most_time = 0;                        ///< of a slot
};

/// Shards of a sample on slots of one wave, in ring order.
struct Layout {
  size_t wave = 0;
  std::vector<int> slots;
  std::vector<int64_t> tokens, ns;
};

class Packer {
 public:
  Packer(const PipelineBatch& batch, const std::vector<int64_t>& wave_ns, const PackOptions& options)
      : batch_(batch), options_(options), num_slots_(size_t(batch.cluster.num_slots)) {
    waves_.reserve(wave_ns.size() + 8);
    for (int64_t ns : wave_ns)
      if (ns > batch.cost.wave) open(ns - batch.cost.wave);
  }

  Plan pack(int64_t& busy_ns) {
    for (size_t item = 0; item < batch_.sample.size(); ++item) {
      const int64_t tokens = batch_.tokens[item];
      Layout layout;
      if (lay_whole(tokens, layout) || lay_ring(tokens, kWorth, layout) || lay_late(tokens, layout)) {
        Layout ring;
        put(item, is_far_late(layout) && lay_ring(tokens, kInTime, ring) ? ring : layout);
      } else {
        open(0);
        ZT_CHECK(lay_late(tokens, layout), "pipeline: sample of ", tokens, " tokens fits no empty wave");
        put(item, layout);
      }
    }
    busy_ns = busy_;
    std::erase_if(plan_.waves, [](const Wave& wave) {
      return std::all_of(wave.slots.begin(), wave.slots.end(), [](const auto& slot) { return slot.empty(); });
    });
    list_rings(plan_);
    choose_exchanges(plan_, batch_.cost);
    return std::move(plan_);
  }

 private:
  void open(int64_t ns) {
    OpenWave wave;
    const Cluster& cluster = batch_.cluster;
    wave.time.assign(num_slots_, ns);
    wave.tokens.assign(num_slots_, cluster.tokens_per_slot);
    wave.segments.assign(num_slots_, cluster.segments_per_slot > 0 ? cluster.segments_per_slot : INT64_MAX);
    waves_.push_back(std::move(wave));
    sum_up(waves_.back());
    plan_.waves.push_back({std::vector<std::vector<Shard>>(num_slots_), {}});
  }
  static void sum_up(OpenWave& wave) {
    wave.total_time = wave.total_tokens = 0;
    wave.most_time = INT64_MIN;
    for (size_t slot = 0; slot < wave.time.size(); ++slot) {
      if (wave.segments[slot] == 0 || wave.tokens[slot] == 0) continue;
      wave.total_time += std::max<int64_t>(0, wave.time[slot]);
      wave.total_tokens += wave.tokens[slot];
      wave.most_time = std::max(wave.most_time, wave.time[slot]);
    }
  }
  /// True when wave `a` should rather take the next sample than `b`.
  bool rather(const OpenWave& a, const OpenWave& b) const {
    if (!options_.by_density) return a.total_time > b.total_time;
    return static_cast<__int128>(a.total_time) * b.total_tokens >
           static_cast<__int128>(b.total_time) * a.total_tokens;
  }
  /// The fullest slot of the wave that takes the sample whole within its time; -1: none.
  int slot_for(const OpenWave& wave, int64_t tokens, int64_t ns) const {
    int best = -1;
    for (size_t slot = 0; slot < num_slots_; ++slot) {
      if (wave.segments[slot] == 0 || wave.tokens[slot] < tokens || wave.time[slot] < ns) continue;
      if (best < 0 || wave.time[slot] < wave.time[size_t(best)]) best = int(slot);
    }
    return best;
  }
  bool lay_whole(int64_t tokens, Layout& layout) const {
    if (tokens > batch_.cluster.tokens_per_slot) return false;
    const int64_t ns = batch_.cost.whole(tokens);
    int best_slot = -1;
    for (size_t w = 0; w < waves_.size(); ++w) {
      const OpenWave& wave = waves_[w];
      if (wave.most_time < ns || (best_slot >= 0 && !rather(wave, waves_[layout.wave]))) continue;
      const int slot = slot_for(wave, tokens, ns);
      if (slot >= 0) best_slot = slot, layout.wave = w;
    }
    if (best_slot < 0) return false;
    layout.slots = {best_slot};
    layout.tokens = {tokens};
    layout.ns = {ns};
    return true;
  }
  /// What a ring must keep besides the caps: time and little waste, time, nothing.
  enum RingRule { kWorth, kInTime, kLate };
  /// True when a whole sample ends long after what is wanted of its slot.
  bool is_far_late(const Layout& layout) const {
    const int64_t left = waves_[layout.wave].time[size_t(layout.slots[0])];
    return layout.slots.size() == 1 && left < layout.ns[0] && batch_.cluster.num_slots > 1 &&
           layout.ns[0] - left > layout.ns[0] / 8;
  }
  /// Splits the sample over slots of the wave with most room.
  bool lay_ring(int64_t tokens, RingRule rule, Layout& layout) const {
    const bool late = rule == kLate;
    std::vector<size_t> order;
    for (size_t w = 0; w < waves_.size(); ++w)
      if (waves_[w].total_tokens >= tokens && (late || waves_[w].total_time > 0)) order.push_back(w);
    constexpr size_t kTries = 6;
    const auto before = [&](size_t a, size_t b) {
      if (rather(waves_[a], waves_[b])) return true;
      return a < b && !rather(waves_[b], waves_[a]);
    };
    if (!late && order.size() > kTries) {
      std::partial_sort(order.begin(), order.begin() + kTries, order.end(), before);
      order.resize(kTries);
    } else std::sort(order.begin(), order.end(), before);
    for (size_t wave : order) {
      layout.wave = wave;
      if (split(tokens, rule, layout)) return true;
    }
    return false;
  }
  bool split(int64_t tokens, RingRule rule, Layout& layout) const {
    const bool late = rule == kLate;
    const OpenWave& wave = waves_[layout.wave];
    std::vector<int> slots;
    for (size_t slot = 0; slot < num_slots_; ++slot)
      if (wave.segments[slot] > 0 && wave.tokens[slot] > 0) slots.push_back(int(slot));
    std::stable_sort(slots.begin(), slots.end(),
                     [&](int a, int b) { return wave.time[size_t(a)] > wave.time[size_t(b)]; });
    std::vector<int64_t> room, sum;  // by slot, and of all up to it
    constexpr size_t kMore = 3;      // slots above the least that are tried
    size_t least = 0;                // slots that have the room
    for (int slot : slots) {
      if (least > 0 && sum.size() >= std::max(least * size_t(options_.spread), least + kMore)) break;
      const int64_t most = std::min(wave.tokens[size_t(slot)], tokens - 1);
      room.push_back(
          late ? most : std::min(most, largest_shard(batch_.cost, tokens, most, wave.time[size_t(slot)])));
      if (room.back() < 1 || int64_t(room.size()) > tokens) break;
      sum.push_back(room.back() + (sum.empty() ? 0 : sum.back()));
      if (least == 0 && sum.back() >= tokens) least = std::max<size_t>(2, sum.size());
    }
    if (least == 0 || least > sum.size()) return false;
    const auto lay = [&](size_t c) {
      layout.slots.assign(slots.begin(), slots.begin() + int64_t(c));
      divide(tokens, {room.begin(), room.begin() + int64_t(c)}, sum[c - 1], layout.tokens);
      return times(layout, late ? nullptr : &wave) && (rule != kWorth || worth(tokens, layout));
    };
    if (lay(std::min(sum.size(), least * size_t(options_.spread)))) return true;
    for (size_t c = least; c <= std::min(sum.size(), least + kMore); ++c)
      if (lay(c)) return true;
    return false;
  }
  /// Shards in proportion to the rooms, none empty.
  void divide(int64_t tokens, const std::vector<int64_t>& room, int64_t total,
              std::vector<int64_t>& shards) const {
    shards.resize(room.size());
    int64_t left = tokens;
    for (size_t i = 0; i < room.size(); ++i) {
      shards[i] = std::max<int64_t>(1, int64_t(static_cast<__int128>(tokens) * room[i] / total));
      left -= shards[i];
    }
    for (size_t i = 0; left != 0; i = (i + 1) % room.size()) {
      const int64_t change = left > 0 ? std::min<int64_t>(1, room[i] - shards[i]) : (shards[i] > 1 ? -1 : 0);
      shards[i] += change;
      left -= change;
    }
  }
  /// Sets the shards' times, of large rings as if mates were alike; false when one takes 1/64 more than its
  /// slot of `wave` has.
  bool times(Layout& layout, const OpenWave* wave) const {
    layout.ns.assign(layout.slots.size(), 0);
    const int64_t tokens = std::accumulate(layout.tokens.begin(), layout.tokens.end(), int64_t(0));
    for (size_t i = 0; i < layout.slots.size(); ++i) {
      int64_t& ns = layout.ns[i];
      ns = batch_.cost.own(layout.tokens[i]);
      constexpr int64_t kLarge = 16;
      const int64_t others = int64_t(layout.slots.size()) - 1;
      if (others > kLarge)
        ns += others * batch_.cost.remote(layout.tokens[i], (tokens - layout.tokens[i]) / others);
      for (size_t j = 0; j < layout.slots.size() && others <= kLarge; ++j)
        if (j != i) ns += batch_.cost.remote(layout.tokens[i], layout.tokens[j]);
      if (wave != nullptr && ns - ns / 64 > wave->time[size_t(layout.slots[i])]) return false;
    }
    return true;
  }
  /// True when the shards together take little more than the sample needs.
  bool worth(int64_t tokens, const Layout& layout) const {
    const int64_t total = std::accumulate(layout.ns.begin(), layout.ns.end(), int64_t(0));
    const int64_t cap = batch_.cluster.tokens_per_slot, least_cp = (tokens + cap - 1) / cap;
    const __int128 needed = static_cast<__int128>(batch_.cost.even_ring(tokens, least_cp)) * least_cp;
    return static_cast<__int128>(total) * 64 <= needed * (64 + options_.waste);
  }
  /// Where the sample costs least time above what is wanted; only caps count.
  bool lay_late(int64_t tokens, Layout& layout) const {
    int best_slot = -1;
    for (size_t w = 0; w < waves_.size() && tokens <= batch_.cluster.tokens_per_slot; ++w) {
      const OpenWave& wave = waves_[w];
      if (best_slot >= 0 && wave.most_time <= waves_[layout.wave].time[size_t(best_slot)]) continue;
      for (size_t slot = 0; slot < num_slots_; ++slot)
        if (wave.segments[slot] > 0 && wave.tokens[slot] >= tokens &&
            (best_slot < 0 || wave.time[slot] > waves_[layout.wave].time[size_t(best_slot)]))
          best_slot = int(slot), layout.wave = w;
    }
    if (best_slot < 0) return batch_.cluster.num_slots > 1 && lay_ring(tokens, kLate, layout);
    layout.slots = {best_slot};
    layout.tokens = {tokens};
    layout.ns = {batch_.cost.whole(tokens)};
    return true;
  }
  void put(size_t item, const Layout& layout) {
    OpenWave& wave = waves_[layout.wave];
    int64_t begin = 0;
    for (size_t i = 0; i < layout.slots.size(); ++i) {
      const size_t slot = size_t(layout.slots[i]);
      plan_.waves[layout.wave].slots[slot].push_back({batch_.sample[item], begin, begin + layout.tokens[i]});
      begin += layout.tokens[i];
      wave.time[slot] -= layout.ns[i];
      wave.tokens[slot] -= layout.tokens[i];
      --wave.segments[slot];
      busy_ += layout.ns[i];
    }
    sum_up(wave);
  }

  const PipelineBatch& batch_;
  PackOptions options_;
  size_t num_slots_;
  std::vector<OpenWave> waves_;
  Plan plan_;
  int64_t busy_ = 0;
};

}  // namespace

PipelineBatch::PipelineBatch(const std::vector<int64_t>& lengths, const CostModel& cost_set,
                             const Cluster& cluster_value)
    : sample(by_descending_length(lengths)), cost_model(cost_set), cost(cost_set), cluster(cluster_value) {
  for (int64_t number : sample) tokens.push_back(lengths[size_t(number)]);
}

Plan pack_waves(const PipelineBatch& batch, const std::vector<int64_t>& wave_ns, const PackOptions& options,
                int64_t& busy_ns) {
  return Packer(batch, wave_ns, options).pack(busy_ns);
}

}  // namespace zoetrope
