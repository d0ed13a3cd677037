// Waves in lock-step on pools of nodes: takes some items out of a step's waves and puts them back elsewhere.
#include "schedule/wave_repair.h"

#include <algorithm>

#include "schedule/ring_price.h"

namespace zoetrope {

WaveRepair::WaveRepair(const WaveBatch& batch, const std::vector<FilledWave>& waves)
    : batch_(batch),
      num_slots_(batch.cluster.num_slots),
      cap_(batch.cluster.tokens_per_slot),
      segment_cap_(batch.cluster.segments_per_slot > 0 ? batch.cluster.segments_per_slot : INT64_MAX),
      node_size_(std::min(batch.cost.ranks_per_node, num_slots_)),
      slots_((waves.size() + 1) * size_t(num_slots_)),
      waves_(waves.size() + 1),
      places_(size_t(batch.num_items())) {
  for (int64_t item = 0; item < batch.num_items(); ++item) {
    if (item == 0 || batch.tokens[size_t(item)] != batch.tokens[size_t(item) - 1])
      options_.push_back(options_of(item));
    length_of_.push_back(options_.size() - 1);
  }
  for (size_t wave = 0; wave < waves.size(); ++wave) {
    for (const WavePiece& piece : waves[wave].pieces) {
      places_[size_t(piece.item)].wave = int32_t(wave);
      places_[size_t(piece.item)].pieces.push_back({piece.slot, piece.tokens, 0});
    }
  }
  for (int64_t item = 0; item < batch.num_items(); ++item) {
    std::vector<Piece>& pieces = places_[size_t(item)].pieces;
    RingView ring;
    for (const Piece& piece : pieces) ring.members.push_back(piece.slot), ring.tokens.push_back(piece.tokens);
    const std::vector<int64_t> ns =
        pieces.size() == 1 ? std::vector<int64_t>{batch.whole_ns[size_t(item)]}
                           : ring_ns(batch.cost, cheapest_exchange(batch.cost, ring).exchange, ring);
    for (size_t i = 0; i < pieces.size(); ++i) pieces[i].ns = ns[i];
    add(item, 1);
  }
  for (size_t wave = 0; wave < waves_.size(); ++wave) measure(wave);
}

int64_t WaveRepair::nodes_with(int64_t per_node) const {
  return num_slots_ / node_size_ + (num_slots_ % node_size_ >= per_node ? 1 : 0);
}

/// Those that no other one beats in time, work and slots of a node.
std::vector<WaveRepair::Option> WaveRepair::options_of(int64_t item) const {
  const int64_t tokens = batch_.tokens[size_t(item)], least = batch_.work_ns[size_t(item)];
  std::vector<Option> all, kept;
  for (int64_t cp = (tokens + cap_ - 1) / cap_; cp <= std::min(num_slots_, tokens); ++cp)
    for (const RingPlace& place : places_of(cp, node_size_)) {
      if (place.per_node == 0 || place.num_nodes > nodes_with(place.per_node)) continue;
      const int64_t ns = even_ring_price(batch_.cost, tokens, place).ns;
      all.push_back({place.num_nodes, place.per_node, ns, (tokens + cp - 1) / cp, cp * ns - least});
    }
  std::stable_sort(all.begin(), all.end(),
                   [](const Option& a, const Option& b) { return a.extra < b.extra; });
  for (const Option& option : all) {
    const bool beaten = std::any_of(kept.begin(), kept.end(), [&](const Option& other) {
      return other.ns <= option.ns &&
             (other.per_node <= option.per_node || option.extra > other.extra + least / 8);
    });
    if (!beaten) kept.push_back(option);
  }
  return kept;
}

int64_t WaveRepair::total_ns() const {
  int64_t sum = 0;
  for (const State& wave : waves_) sum += wave.length;
  return sum;
}

std::vector<FilledWave> WaveRepair::filled() const {
  std::vector<FilledWave> filled(waves_.size());
  for (int64_t item = 0; item < batch_.num_items(); ++item) {
    const Place& place = places_[size_t(item)];
    FilledWave& wave = filled[size_t(place.wave)];
    wave.work_ns += batch_.work_ns[size_t(item)];
    for (const Piece& piece : place.pieces) wave.pieces.push_back({int32_t(item), piece.slot, piece.tokens});
  }
  for (size_t wave = 0; wave < waves_.size(); ++wave) filled[wave].length_ns = waves_[wave].length;
  std::erase_if(filled, [](const FilledWave& wave) { return wave.pieces.empty(); });
  return filled;
}

/// Adds an item's pieces to its slots, or takes them away.
void WaveRepair::add(int64_t item, int64_t sign) {
  const Place& place = places_[size_t(item)];
  num_looks_ += 1 + int64_t(place.pieces.size());
  for (const Piece& piece : place.pieces) {
    Slot& value = slot(size_t(place.wave), piece.slot);
    value.ns += sign * piece.ns;
    value.tokens += sign * piece.tokens;
    value.segments += sign;
    busy_ns_ += sign * piece.ns;
  }
  State& wave = waves_[size_t(place.wave)];
  wave.num_pieces += sign * int64_t(place.pieces.size());
  wave.changed = true;
}

void WaveRepair::measure(size_t wave) {
  State& state = waves_[wave];
  state.length = 0;
  if (state.num_pieces > 0)
    for (int64_t i = 0; i < num_slots_; ++i) state.length = std::max(state.length, slot(wave, i).ns);
  if (state.num_pieces > 0) state.length += batch_.cost.wave;
  state.level = state.length;
  state.changed = false;
}

int64_t WaveRepair::end_of_slot(size_t wave, int64_t rank) {
  num_looks_ += num_slots_;
  ends_.clear();
  for (int64_t i = 0; i < num_slots_; ++i) ends_.push_back(slot(wave, i).ns);
  const auto at = ends_.begin() + std::min(rank, num_slots_ - 1);
  std::nth_element(ends_.begin(), at, ends_.end(), std::greater<>());
  return *at + batch_.cost.wave;
}

void WaveRepair::take_out(int64_t item) {
  Place& place = places_[size_t(item)];
  if (place.wave < 0) return;
  add(item, -1);
  before_.emplace_back(int32_t(item), std::move(place));
  place = {};
  out_.push_back(int32_t(item));
}

void WaveRepair::take_out_of(size_t wave, int64_t first_slot, int64_t end_slot, int64_t ns) {
  num_looks_ += batch_.num_items();
  for (int64_t item = 0; item < batch_.num_items(); ++item) {
    const Place& place = places_[size_t(item)];
    if (place.wave != int32_t(wave)) continue;
    if (std::any_of(place.pieces.begin(), place.pieces.end(), [&](const Piece& piece) {
          return piece.slot >= first_slot && piece.slot < end_slot &&
                 slot(wave, piece.slot).ns + batch_.cost.wave > ns;
        }))
      take_out(item);
  }
}

bool WaveRepair::put_back(const RepairStyle& style, std::mt19937_64& random, int64_t most_ns) {
  style_ = style;
  const auto densest = std::lower_bound(batch_.tokens.begin(), batch_.tokens.end(), cap_, std::greater<>());
  filler_ = 0;
  if (densest != batch_.tokens.end())
    filler_ =
        (batch_.whole_ns[size_t(densest - batch_.tokens.begin())] << 16) / *densest * style.filler_sixteenths;
  std::sort(out_.begin(), out_.end());
  open_.clear();
  for (size_t wave = 0; wave < waves_.size(); ++wave)
    if (style.everywhere || waves_[wave].changed || waves_[wave].level != waves_[wave].length)
      open_.push_back(wave);
  const auto levels_ns = [&] {
    int64_t sum = 0;
    for (const State& wave : waves_) sum += wave.level;
    return sum;
  };
  for (int32_t item : out_)
    if (!place_whole(item, random) && !place_ring(item, random) &&
        !place_anywhere(item, most_ns - levels_ns())) {
      out_.clear();
      return false;
    }
  out_.clear();
  for (size_t i = 0; i < waves_.size(); ++i)
    if (waves_[i].changed || waves_[i].level != waves_[i].length) measure(i);
  return true;
}

void WaveRepair::accept() {
  num_looks_ += num_slots_;
  before_.clear();
  if (waves_.back().num_pieces > 0) {
    waves_.emplace_back();
    slots_.resize(slots_.size() + size_t(num_slots_));
  }
}

void WaveRepair::undo() {
  num_looks_ += num_slots_;  // so that a search ends whatever it finds
  for (const auto& [item, place] : before_)
    if (places_[size_t(item)].wave >= 0) add(item, -1);
  for (auto& [item, place] : before_) {
    places_[size_t(item)] = std::move(place);
    add(item, 1);
  }
  before_.clear();
  out_.clear();
  for (size_t i = 0; i < waves_.size(); ++i)
    if (waves_[i].changed || waves_[i].level != waves_[i].length) measure(i);
}

/// What a slot idles away if it is filled up with items of the usual density.
int64_t WaveRepair::idle_of(size_t wave, int64_t ns, int64_t tokens) const {
  return std::max<int64_t>(
      0, waves_[wave].level - batch_.cost.wave - ns - int64_t(__int128(cap_ - tokens) * filler_ >> 20));
}

/// On the slot that has most time left for each of the tokens it has room for: denser items come first.
bool WaveRepair::place_whole(int64_t item, std::mt19937_64& random) {
  const int64_t tokens = batch_.tokens[size_t(item)], ns = batch_.whole_ns[size_t(item)];
  if (tokens > cap_) return false;
  Choice best;
  int64_t best_ns = 0, best_room = 1;
  int32_t best_slot = -1;
  for (size_t wave : open_) {
    const int64_t end = waves_[wave].level - batch_.cost.wave;
    if (ns > end) continue;
    num_looks_ += num_slots_;
    for (int64_t i = 0; i < num_slots_; ++i) {
      const Slot& value = slot(wave, i);
      const int64_t room_ns = end - value.ns, room = cap_ - value.tokens;
      if (room_ns < ns || room < tokens || value.segments >= segment_cap_) continue;
      if (best_slot >= 0) {
        if (style_.tightest ? room_ns >= best_ns : __int128(room_ns) * best_room <= __int128(best_ns) * room)
          continue;
        if (style_.blinks > 0 && random() % 64 < style_.blinks) continue;
      }
      best_ns = room_ns, best_room = room, best_slot = int32_t(i), best.wave = wave;
    }
  }
  if (best_slot < 0) return false;
  best.slots = {best_slot};
  const Option whole{1, 1, ns, tokens, 0};
  best.option = &whole;
  put(item, best);
  return true;
}

/// Where it costs least: work over the least, and what its slots will idle away.
bool WaveRepair::place_ring(int64_t item, std::mt19937_64& random) {
  Choice best;
  for (const Option& option : options_[length_of_[size_t(item)]]) {
    if (option.num_nodes * option.per_node == 1) continue;
    for (size_t wave : open_) {
      if (batch_.cost.wave + option.ns > waves_[wave].level) continue;
      if (style_.blinks > 0 && random() % 64 < style_.blinks) continue;
      find_ring(option, wave, best);
    }
  }
  if (best.option == nullptr) return false;
  put(item, best);
  return true;
}

void WaveRepair::find_ring(const Option& option, size_t wave, Choice& best) {
  const int64_t end = waves_[wave].level - batch_.cost.wave - option.ns, most = cap_ - option.tokens,
                cp = option.num_nodes * option.per_node;
  const int64_t hope = style_.hope_sixteenths, before = idle_of(wave, 0, 0),
                after = idle_of(wave, option.ns, option.tokens);
  if (option.extra + cp * std::min<int64_t>(0, after - before * hope / 16) >= best.score) return;
  num_looks_ += num_slots_;
  const auto serves = [&](const Slot& value) {
    return value.ns <= end && value.tokens <= most && value.segments < segment_cap_;
  };
  // Nodes with just enough slots left come first.
  nodes_.clear();
  for (int64_t first = 0, node = 0; first < num_slots_; first += node_size_, ++node) {
    int64_t room = 0;
    for (int64_t i = first; i < std::min(first + node_size_, num_slots_); ++i) room += serves(slot(wave, i));
    if (room >= option.per_node) nodes_.emplace_back(room, int32_t(node));
  }
  if (int64_t(nodes_.size()) < option.num_nodes) return;
  std::sort(nodes_.begin(), nodes_.end());
  int64_t score = option.extra;
  found_.clear();
  for (int64_t n = 0; n < option.num_nodes; ++n) {
    const int64_t first = nodes_[size_t(n)].second * node_size_;
    room_.clear();
    for (int64_t i = first; i < std::min(first + node_size_, num_slots_); ++i)
      if (serves(slot(wave, i))) room_.emplace_back(-slot(wave, i).ns, int32_t(i));
    std::sort(room_.begin(), room_.end());  // the fullest that serve
    for (int64_t i = 0; i < option.per_node; ++i) {
      const int32_t at = room_[size_t(i)].second;
      const Slot& value = slot(wave, at);
      score += idle_of(wave, value.ns + option.ns, value.tokens + option.tokens) -
               idle_of(wave, value.ns, value.tokens) * hope / 16;
      found_.push_back(at);
    }
  }
  if (score >= best.score) return;
  best.option = &option, best.wave = wave, best.score = score, best.slots = found_;
}

/// Where it raises the level of a wave least, and no more than that.
bool WaveRepair::place_anywhere(int64_t item, int64_t most_rise) {
  Choice best;
  best.score = std::min(most_rise, INT64_MAX - 1) + 1;
  for (const Option& option : options_[length_of_[size_t(item)]])
    for (size_t wave : open_) raise_least(option, wave, best);
  if (best.option == nullptr) return false;
  put(item, best);
  return true;
}

void WaveRepair::raise_least(const Option& option, size_t wave, Choice& best) {
  if (option.ns + batch_.cost.wave - waves_[wave].level >= best.score) return;
  num_looks_ += num_slots_;
  nodes_.clear();
  const auto list_room = [&](int64_t node) {
    room_.clear();
    for (int64_t i = node * node_size_; i < std::min((node + 1) * node_size_, num_slots_); ++i) {
      const Slot& value = slot(wave, i);
      if (value.tokens + option.tokens <= cap_ && value.segments < segment_cap_)
        room_.emplace_back(value.ns, int32_t(i));
    }
    std::sort(room_.begin(), room_.end());
  };
  for (int64_t node = 0; node * node_size_ < num_slots_; ++node) {
    list_room(node);
    if (int64_t(room_.size()) >= option.per_node)
      nodes_.emplace_back(room_[size_t(option.per_node) - 1].first, int32_t(node));
  }
  if (int64_t(nodes_.size()) < option.num_nodes) return;
  std::sort(nodes_.begin(), nodes_.end());
  const int64_t rise =
      nodes_[size_t(option.num_nodes) - 1].first + option.ns + batch_.cost.wave - waves_[wave].level;
  if (rise >= best.score) return;
  found_.clear();
  for (int64_t n = 0; n < option.num_nodes; ++n) {
    list_room(nodes_[size_t(n)].second);
    for (int64_t i = 0; i < option.per_node; ++i) found_.push_back(room_[size_t(i)].second);
  }
  best.option = &option, best.wave = wave, best.score = rise, best.slots = found_;
}

void WaveRepair::put(int64_t item, const Choice& choice) {
  const int64_t tokens = batch_.tokens[size_t(item)], cp = int64_t(choice.slots.size());
  Place& place = places_[size_t(item)];
  place.wave = int32_t(choice.wave);
  place.pieces.clear();
  for (int32_t at : choice.slots) place.pieces.push_back({at, 0, choice.option->ns});
  std::sort(place.pieces.begin(), place.pieces.end(),
            [](const Piece& a, const Piece& b) { return a.slot < b.slot; });
  for (int64_t i = 0; i < cp; ++i) place.pieces[size_t(i)].tokens = tokens / cp + (i < tokens % cp ? 1 : 0);
  add(item, 1);
  State& wave = waves_[choice.wave];
  for (int32_t at : choice.slots)
    wave.level = std::max(wave.level, slot(choice.wave, at).ns + batch_.cost.wave);
}

}  // namespace zoetrope
