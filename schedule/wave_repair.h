// Waves in lock-step on pools of nodes: takes some items out of a step's waves and puts them back elsewhere.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "schedule/waves.h"

namespace zoetrope {

/// How places are chosen where no choice is best for all batches.
struct RepairStyle {
  int64_t hope_sixteenths = 4;    ///< of the time that a slot will else idle away, what filling it is worth
  int64_t filler_sixteenths = 8;  ///< of the densest whole item, how dense are those that fill slots last
  bool tightest = false;   ///< whole items go where the least time is left, not the most for each token
  uint64_t blinks = 0;     ///< of 64 places so many aren't seen
  bool everywhere = true;  ///< also in waves that nothing was taken out of
};

/// A step's waves that can be changed, and changed back.
class WaveRepair {
 public:
  /// `waves`: all items lie in one of them.
  WaveRepair(const WaveBatch& batch, const std::vector<FilledWave>& waves);

  int64_t total_ns() const;                     ///< of all waves
  int64_t busy_ns() const { return busy_ns_; }  ///< of all slots
  int64_t num_looks() const { return num_looks_; }
  size_t num_waves() const { return waves_.size(); }  ///< empty ones at the end included
  int64_t length_ns(size_t wave) const { return waves_[wave].length; }
  /// When the slot ends that `rank` others of the wave end after, wave overhead included.
  int64_t end_of_slot(size_t wave, int64_t rank);
  int64_t wave_of(int64_t item) const { return places_[size_t(item)].wave; }
  std::vector<FilledWave> filled() const;
  /// Length of a wave that ends with the item alone, whole or in one of its rings.
  int64_t natural_ns(int64_t item, std::mt19937_64& random) const {
    const std::vector<Option>& options = options_[length_of_[size_t(item)]];
    return options.empty() ? batch_.cost.wave : options[random() % options.size()].ns + batch_.cost.wave;
  }

  /// Takes the item out of its wave, if it isn't already.
  void take_out(int64_t item);
  /// All items on these slots that end after `ns`.
  void take_out_of(size_t wave, int64_t first_slot, int64_t end_slot, int64_t ns);
  /// Puts all items that are out into waves, none of which should end after its level: as long as it was
  /// unless `set_level` said otherwise. Those that find no place raise the level of a wave; false: there is
  /// none for one of them, or all levels together would be above `most_ns`.
  bool put_back(const RepairStyle& style, std::mt19937_64& random, int64_t most_ns = INT64_MAX);
  void set_level(size_t wave, int64_t level) { waves_[wave].level = level; }  ///< for the next time
  void accept();  ///< all changes since the last accept
  void undo();    ///< the same

 private:
  /// An even ring on the same number of slots of each of some nodes.
  struct Option {
    int64_t num_nodes, per_node, ns, tokens;
    int64_t extra;  ///< of all its slots, over the least work
  };
  struct Piece {
    int32_t slot;
    int64_t tokens, ns;
  };
  struct Place {
    int32_t wave = -1;
    std::vector<Piece> pieces;
  };
  struct Slot {
    int64_t ns = 0, tokens = 0, segments = 0;
  };
  struct State {  // of a wave
    int64_t length = 0, level = 0, num_pieces = 0;
    bool changed = false;
  };
  struct Choice {
    const Option* option = nullptr;
    size_t wave = 0;
    int64_t score = INT64_MAX;
    std::vector<int32_t> slots;
  };

  std::vector<Option> options_of(int64_t item) const;
  int64_t nodes_with(int64_t per_node) const;
  bool place_whole(int64_t item, std::mt19937_64& random);
  bool place_ring(int64_t item, std::mt19937_64& random);
  bool place_anywhere(int64_t item, int64_t most_rise);
  void find_ring(const Option& option, size_t wave, Choice& best);
  void raise_least(const Option& option, size_t wave, Choice& best);
  void put(int64_t item, const Choice& choice);
  void add(int64_t item, int64_t sign);
  void measure(size_t wave);
  int64_t idle_of(size_t wave, int64_t ns, int64_t tokens) const;
  Slot& slot(size_t wave, int64_t index) { return slots_[wave * size_t(num_slots_) + size_t(index)]; }
  const Slot& slot(size_t wave, int64_t index) const {
    return slots_[wave * size_t(num_slots_) + size_t(index)];
  }

  const WaveBatch& batch_;
  int64_t num_slots_, cap_, segment_cap_, node_size_;
  std::vector<std::vector<Option>> options_;  // of distinct lengths, least work first
  std::vector<size_t> length_of_;             // by item
  RepairStyle style_;
  int64_t filler_ = 0, num_looks_ = 0, busy_ns_ = 0;  // filler: 2^-20 ns per token
  std::vector<Slot> slots_;                           // wave after wave
  std::vector<State> waves_;
  std::vector<Place> places_;                              // by item
  std::vector<std::pair<int32_t, Place>> before_;          // items that were taken out, and where they were
  std::vector<int32_t> out_;                               // items that lie nowhere
  std::vector<size_t> open_;                               // waves that items may be put into
  std::vector<int64_t> ends_;                              // of a wave's slots
  std::vector<int32_t> found_;                             // slots of a ring
  std::vector<std::pair<int64_t, int32_t>> nodes_, room_;  // (order, node), (order, slot)
};

/// Shorter waves for the same items, or the same waves; ends when they are that short or so many slots had
/// been looked at.
std::vector<FilledWave> search_repairs(const WaveBatch& batch, const std::vector<FilledWave>& waves,
                                       int64_t good_ns, int64_t most_looks);

}  // namespace zoetrope
