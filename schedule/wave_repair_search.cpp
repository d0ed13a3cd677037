// Waves in lock-step on pools of nodes: a local search that shortens a wave, takes some other items out of
// their waves, and puts all back.
#include <algorithm>
#include <bit>

#include "schedule/wave_repair.h"

namespace zoetrope {
namespace {

class RepairSearch {
 public:
  RepairSearch(const WaveBatch& batch, const std::vector<FilledWave>& waves)
      : batch_(batch), repair_(batch, waves), best_(waves), best_ns_(repair_.total_ns()) {}

  std::vector<FilledWave> run(int64_t good_ns, int64_t most_looks) {
    constexpr int64_t kCool = 600;  // parts of a wave by which a change may make it longer, at first
    int64_t now = value();
    const int64_t patience = most_looks / 2;  // what can't be repaired shows soon
    for (int64_t found_at = 0; best_ns_ > good_ns && repair_.num_looks() - found_at < patience &&
                               repair_.num_looks() < most_looks;) {
      // The hotter, the worse may be what is taken: a geometric distribution that cools down.
      const int64_t left = std::max<int64_t>(0, most_looks - repair_.num_looks());
      const int64_t heat =
          int64_t(__int128(best_ns_) * left / most_looks / kCool / int64_t(repair_.num_waves()));
      const int64_t most = now + heat * std::countl_zero(random_() | 1);
      most_ns_ = most - batch_.total_ns / batch_.cluster.num_slots / 16;
      if (!change() || value() > most) {
        repair_.undo();
        continue;
      }
      now = value();
      repair_.accept();
      if (repair_.total_ns() >= best_ns_) continue;
      best_ns_ = repair_.total_ns(), best_ = repair_.filled();
      found_at = repair_.num_looks();
    }
    return std::move(best_);
  }

 private:
  uint64_t pick(uint64_t below) { return random_() % below; }
  /// Less busy slots are worth something, too.
  int64_t value() const { return repair_.total_ns() + repair_.busy_ns() / batch_.cluster.num_slots / 16; }

  void take_out_nodes(size_t wave, uint64_t count) {
    const int64_t num_slots = batch_.cluster.num_slots,
                  node = std::min(batch_.cost.ranks_per_node, num_slots);
    for (uint64_t i = 0; i < count; ++i) {
      const int64_t first = int64_t(pick(uint64_t((num_slots + node - 1) / node))) * node;
      repair_.take_out_of(wave, first, first + node, 0);
    }
  }

  RepairStyle any_style() { return {int64_t(pick(5)) * 4, int64_t(pick(5)) * 4, pick(2) == 0, pick(3)}; }

  /// Empties two or three waves and fills them anew, each but the last as long as one of their items takes:
  /// together the lengths of waves change as no step of `change` changes them.
  bool refill() {
    std::vector<size_t> waves;
    int64_t left = 0;
    for (uint64_t count = pick(6) == 0 ? 3 : 2; count > 0; --count) {
      const size_t wave = size_t(pick(repair_.num_waves()));
      if (std::find(waves.begin(), waves.end(), wave) != waves.end()) continue;
      waves.push_back(wave);
      left += repair_.length_ns(wave);
    }
    if (waves.size() < 2 || left == 0) return false;
    std::vector<int64_t> items;
    for (int64_t item = 0; item < batch_.num_items(); ++item)
      if (std::find(waves.begin(), waves.end(), size_t(repair_.wave_of(item))) != waves.end())
        items.push_back(item);
    for (size_t wave : waves) repair_.take_out_of(wave, 0, batch_.cluster.num_slots, 0);
    left -= left >> (5 + pick(8));
    for (size_t i = 0; i + 1 < waves.size(); ++i) {
      const uint64_t longest = 1 + pick(items.size());
      const int64_t level = std::min(left, repair_.natural_ns(items[pick(longest)], random_));
      repair_.set_level(waves[i], level);
      left -= level;
    }
    repair_.set_level(waves.back(), left);
    RepairStyle style = any_style();
    style.everywhere = false;
    return repair_.put_back(style, random_, most_ns_);
  }

  /// Shortens a wave by no more than what some of its slots exceed the others, and changes some other slots
  /// with these: where many small items fill a wave, no larger step levels it.
  bool level_slots() {
    const size_t wave = size_t(pick(repair_.num_waves())), other = size_t(pick(repair_.num_waves()));
    const int64_t num_slots = batch_.cluster.num_slots, length = repair_.length_ns(wave);
    if (length == 0) return false;
    const int64_t level = repair_.end_of_slot(wave, int64_t(1 + pick(4)));
    repair_.take_out_of(wave, 0, num_slots, std::min(level, length - 1));
    for (uint64_t count = 1 + pick(6); count > 0; --count) {
      const int64_t slot = int64_t(pick(uint64_t(num_slots)));
      repair_.take_out_of(pick(3) == 0 ? other : wave, slot, slot + 1, 0);
    }
    repair_.set_level(wave, std::min(level, length - 1));
    return repair_.put_back(any_style(), random_, most_ns_);
  }

  bool change() {
    const uint64_t kind_of_change = pick(4);
    if (kind_of_change == 0) return level_slots();
    if (kind_of_change == 1) return refill();
    const int64_t num_slots = batch_.cluster.num_slots;
    const size_t wave = size_t(pick(repair_.num_waves())), other = size_t(pick(repair_.num_waves()));
    const int64_t length = repair_.length_ns(wave);
    if (length == 0) return false;
    const uint64_t kind = pick(32);
    const int64_t shorter = kind == 0 ? length >> (1 + pick(6)) : length >> (3 + pick(8));
    repair_.take_out_of(wave, 0, num_slots, kind == 0 ? 0 : length - shorter);
    if (other != wave && repair_.length_ns(other) > 0) {
      if (kind % 2 == 0) take_out_nodes(other, pick(8));
      if (kind % 4 < 2) repair_.set_level(other, repair_.length_ns(other) + shorter * int64_t(pick(8)) / 8);
    }
    if (kind % 8 < 2) take_out_nodes(wave, pick(4));
    if (kind % 8 > 5) {
      const int64_t count = int64_t(pick(24)), first = int64_t(pick(uint64_t(batch_.num_items())));
      for (int64_t item = first; item < std::min(first + count, batch_.num_items()); ++item)
        if (pick(2) == 0) repair_.take_out(item);
    }
    repair_.set_level(wave, length - shorter);
    return repair_.put_back(any_style(), random_, most_ns_);
  }

  const WaveBatch& batch_;
  WaveRepair repair_;
  std::mt19937_64 random_{1};  // the same on every rank
  std::vector<FilledWave> best_;
  int64_t best_ns_, most_ns_ = 0;  ///< most: above it a change is not taken
};

}  // namespace

std::vector<FilledWave> search_repairs(const WaveBatch& batch, const std::vector<FilledWave>& waves,
                                       int64_t good_ns, int64_t most_looks) {
  return RepairSearch(batch, waves).run(good_ns, most_looks);
}

}  // namespace zoetrope
