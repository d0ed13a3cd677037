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
    constexpr int64_t kCool = 300;  // parts of a wave by which a change may make it longer, at first
    int64_t now = value();
    while (repair_.num_looks() < most_looks && best_ns_ > good_ns) {
      if (!change()) {
        repair_.undo();
        continue;
      }
      const int64_t next = value(), left = std::max<int64_t>(0, most_looks - repair_.num_looks());
      // The hotter, the worse may be what is taken: a geometric distribution that cools down.
      const int64_t heat =
          int64_t(__int128(best_ns_) * left / most_looks / kCool / int64_t(repair_.num_waves()));
      if (next > now + heat * std::countl_zero(random_() | 1)) {
        repair_.undo();
        continue;
      }
      repair_.accept();
      now = next;
      if (repair_.total_ns() < best_ns_) best_ns_ = repair_.total_ns(), best_ = repair_.filled();
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

  bool change() {
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
    const RepairStyle style{int64_t(pick(5)) * 4, int64_t(pick(5)) * 4, pick(2) == 0, pick(3)};
    return repair_.put_back(style, random_);
  }

  const WaveBatch& batch_;
  WaveRepair repair_;
  std::mt19937_64 random_{1};  // the same on every rank
  std::vector<FilledWave> best_;
  int64_t best_ns_;
};

}  // namespace

std::vector<FilledWave> search_repairs(const WaveBatch& batch, const std::vector<FilledWave>& waves,
                                       int64_t good_ns, int64_t most_looks) {
  return RepairSearch(batch, waves).run(good_ns, most_looks);
}

}  // namespace zoetrope
