// Waves in lock-step: fills one wave up to a level. Long items become rings first, poured over the emptiest
// slots, each as much as it has room; then the emptiest slot takes the largest whole item that fits; last,
// items are split into what room is left.
#include <algorithm>
#include <numeric>

#include "schedule/bound.h"
#include "schedule/waves.h"

namespace zoetrope {

FreeItems::FreeItems(const WaveBatch& batch)
    : count(batch.num_items()),
      tokens(batch.total_tokens),
      work_ns(batch.total_ns),
      next_(size_t(batch.num_items()) + 1) {
  std::iota(next_.begin(), next_.end(), 0);
}

FreeItems::FreeItems(const WaveBatch& batch, std::vector<int32_t> items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  next_.resize(size_t(batch.num_items()) + 1);
  int32_t after = int32_t(batch.num_items());
  next_[size_t(after)] = after;
  for (int32_t item = after - 1; item >= 0; --item) {
    if (!items.empty() && items.back() == item) {
      items.pop_back();
      after = item;
      ++count;
      tokens += batch.tokens[size_t(item)];
      work_ns += batch.work_ns[size_t(item)];
    }
    next_[size_t(item)] = after;
  }
}

int64_t FreeItems::first_from(int64_t item) {
  size_t at = size_t(item);
  while (next_[at] != int32_t(at)) {
    next_[at] = next_[size_t(next_[at])];
    at = size_t(next_[at]);
  }
  return int64_t(at);
}

void FreeItems::take(const WaveBatch& batch, int64_t item) {
  next_[size_t(item)] = int32_t(item + 1);
  --count;
  tokens -= batch.tokens[size_t(item)];
  work_ns -= batch.work_ns[size_t(item)];
}

WaveFiller::WaveFiller(const WaveBatch& batch)
    : batch_(batch),
      segment_cap_(batch.cluster.segments_per_slot > 0 ? batch.cluster.segments_per_slot : INT64_MAX),
      slots_(size_t(batch.cluster.num_slots)) {}

FilledWave WaveFiller::fill(FreeItems& free, int64_t level, WaveGoal goal) {
  begin(level);
  place_rings(free);
  place_wholes(free);
  place_splits(free);
  if (goal == WaveGoal::kAll && free.count > 0) place_rest(free);
  for (const Slot& slot : slots_)
    if (slot.segments > 0) wave_.length_ns = std::max(wave_.length_ns, slot.ns);
  return std::move(wave_);
}

void WaveFiller::begin(int64_t level) {
  level_ = level;
  num_looks_ += int64_t(slots_.size());
  wave_ = {};
  used_tokens_ = 0;
  used_ns_ = batch_.cost.wave * batch_.cluster.num_slots;
  std::fill(slots_.begin(), slots_.end(), Slot{batch_.cost.wave, 0, 0});
  heap_.clear();
  for (int slot = 0; slot < int(slots_.size()); ++slot) heap_.push(batch_.cost.wave, slot);
}

bool WaveFiller::is_full(const Slot& slot) const {
  return slot.segments >= segment_cap_ || slot.tokens >= batch_.cluster.tokens_per_slot;
}

void WaveFiller::push(int slot) {
  if (!is_full(slots_[size_t(slot)])) heap_.push(slots_[size_t(slot)].ns, slot);
}

void WaveFiller::put(int64_t item, int slot, int64_t tokens, int64_t ns) {
  Slot& value = slots_[size_t(slot)];
  value.ns += ns;
  value.tokens += tokens;
  ++value.segments;
  used_ns_ += ns;
  used_tokens_ += tokens;
  wave_.pieces.push_back({int32_t(item), int32_t(slot), tokens});
}

/// Items that no slot takes whole. The first one opens the wave and may raise the level. After one that finds
/// no place, those nearly as long are passed over.
void WaveFiller::place_rings(FreeItems& free) {
  constexpr int kFailures = 6;  // so many that find no place end the search for more
  constexpr int64_t kHighest = int64_t(1) << 60;
  int failures = 0;
  int64_t first_waste = 0;  // sixteenths
  for (int64_t item = free.first_from(0); item < batch_.num_items() && failures < kFailures;) {
    const int64_t tokens = batch_.tokens[size_t(item)], usual = batch_.usual_ns[size_t(item)];
    const bool fits_cap = tokens <= batch_.cluster.tokens_per_slot;
    if (fits_cap && batch_.whole_ns[size_t(item)] + batch_.cost.wave <= level_) return;
    const bool is_first = wave_.pieces.empty();
    bool placed =
        pour(item, INT64_MAX,
             is_first ? INT64_MAX : usual + usual / 16 * std::max(style_.waste_sixteenths, first_waste));
    while (!placed && wave_.pieces.empty() && level_ < kHighest) {
      level_ += level_ / 32 + 1;
      if (fits_cap && batch_.whole_ns[size_t(item)] + batch_.cost.wave <= level_) return;
      placed = pour(item, INT64_MAX, INT64_MAX);
    }
    if (is_first && batch_.has_places)  // no more than the level asks of all items of its length
      first_waste = (used_ns_ - batch_.cost.wave * batch_.cluster.num_slots - usual) / (usual / 16 + 1) + 1;
    int64_t next = item + 1;
    if (placed) {
      free.take(batch_, item);
    } else {
      ++failures;
      next = std::lower_bound(batch_.tokens.begin() + next, batch_.tokens.end(), tokens - tokens / 16,
                              std::greater<>()) -
             batch_.tokens.begin();
    }
    item = free.first_from(next);
  }
}

void WaveFiller::place_wholes(FreeItems& free) {
  int64_t by_time = 0;  // the emptiest slot gets ever fuller, so it moves on only
  while (!heap_.empty()) {
    const int slot = heap_.top();
    const Slot& value = slots_[size_t(slot)];
    const int64_t room_ns = level_ - value.ns, room = batch_.cluster.tokens_per_slot - value.tokens;
    if (by_time < batch_.num_items() && batch_.whole_ns[size_t(by_time)] > room_ns)
      by_time = std::lower_bound(batch_.whole_ns.begin() + by_time, batch_.whole_ns.end(), room_ns,
                                 std::greater<>()) -
                batch_.whole_ns.begin();
    by_time = free.first_from(by_time);
    if (by_time == batch_.num_items()) return;
    int64_t item = by_time;
    if (batch_.tokens[size_t(item)] > room)
      item = free.first_from(
          std::lower_bound(batch_.tokens.begin() + item, batch_.tokens.end(), room, std::greater<>()) -
          batch_.tokens.begin());
    if (item == batch_.num_items()) {
      heap_.pop();
      continue;
    }
    put(item, slot, batch_.tokens[size_t(item)], batch_.whole_ns[size_t(item)]);
    wave_.work_ns += batch_.work_ns[size_t(item)];
    free.take(batch_, item);
    if (is_full(value)) heap_.pop();
    else heap_.replace_top(value.ns);
  }
}

/// The largest items that the emptiest few slots hold together.
void WaveFiller::place_splits(FreeItems& free) {
  heap_.clear();
  for (int slot = 0; slot < int(slots_.size()); ++slot)
    if (slots_[size_t(slot)].ns < level_) push(slot);
  constexpr int64_t kSlots[] = {2, 3, 4, 6};
  for (bool placed = true; placed && free.count > 0;) {
    placed = false;
    for (int64_t cp : kSlots) {
      if (heap_.size() < cp || placed) break;
      int64_t room = 0;
      aside_.clear();
      for (int64_t i = 0; i < cp; ++i) {
        aside_.push_back(heap_.top());
        heap_.pop();
        room += level_ - slots_[size_t(aside_.back())].ns;
      }
      for (int slot : aside_) push(slot);
      const auto at = std::lower_bound(batch_.whole_ns.begin(), batch_.whole_ns.end(), room - room / 16,
                                       std::greater<>());
      const int64_t item = free.first_from(at - batch_.whole_ns.begin());
      if (item == batch_.num_items()) continue;
      placed = pour(item, cp + 1, batch_.whole_ns[size_t(item)] + batch_.whole_ns[size_t(item)] / 8);
      if (placed) free.take(batch_, item);
    }
  }
}

/// What must lie in this wave and has found no place: over the slots with most room for it.
void WaveFiller::place_rest(FreeItems& free) {
  for (int64_t item = free.first_from(0); item < batch_.num_items(); item = free.first_from(item + 1)) {
    if (!pour_anywhere(item)) return;
    free.take(batch_, item);
  }
}

}  // namespace zoetrope
