// The elastic planner for waves in lock-step: a step takes the sum over waves of the largest rank, so every
// wave must end level. Parts: filling one wave up to a level (waves_fill.cpp), and the search over levels
// (waves.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "schedule/cost.h"
#include "schedule/even_prices.h"
#include "schedule/fixed_cost.h"
#include "schedule/plan.h"
#include "schedule/slot_heap.h"

namespace zoetrope {

/// A step's samples by descending length, ties by number; called items here.
struct WaveBatch {
  WaveBatch(const std::vector<int64_t>& lengths, const CostModel& cost_set, const Cluster& cluster_value);
  int64_t num_items() const { return int64_t(tokens.size()); }
  /// An even ring of the item: its slowest and its first member.
  const EvenPrices::Price& even(int64_t item, int64_t cp) const { return even_prices.of(cost, item, cp); }

  std::vector<int64_t> sample, tokens, whole_ns;  ///< by item
  std::vector<int64_t> work_ns;                   ///< the least on the fewest slots that the cap allows
  std::vector<int64_t> usual_ns;                  ///< of all its slots, split evenly where the cap splits it
  bool has_places = false;  ///< it matters on which nodes a ring lies, or there are schemes to choose
  CostModel cost_model;
  FixedCost cost;
  Cluster cluster;
  int64_t total_tokens = 0, total_ns = 0;
  mutable EvenPrices even_prices;  ///< a cache
};

/// The items that lie in no wave yet.
class FreeItems {
 public:
  explicit FreeItems(const WaveBatch& batch);
  FreeItems(const WaveBatch& batch, std::vector<int32_t> items);  ///< only these; repeated ones count once
  /// First free item from `item` on; num_items() when there is none.
  int64_t first_from(int64_t item);
  /// The item lies in a wave now.
  void take(const WaveBatch& batch, int64_t item);

  int64_t count = 0, tokens = 0, work_ns = 0;

 private:
  std::vector<int32_t> next_;  // itself when free, else some later item; compressed as it is followed
};

/// Tokens of an item on a slot; the shards of an item follow each other.
struct WavePiece {
  int32_t item = 0, slot = 0;
  int64_t tokens = 0;
  bool operator<(const WavePiece& other) const { return item < other.item; }
};
struct FilledWave {
  std::vector<WavePiece> pieces;
  int64_t length_ns = 0;  ///< of the fullest slot, wave overhead included
  int64_t work_ns = 0;    ///< of its items, had none been split
  int32_t longest_item() const { return std::min_element(pieces.begin(), pieces.end())->item; }
};

/// What is left to a wave: any free items, or all of them.
enum class WaveGoal { kSome, kAll };

/// Which plans a filler prefers where none is best for all batches.
struct FillStyle {
  int64_t waste_sixteenths = 2;  ///< by which rings beside a longer one may take more than usual
  bool short_shards = false;     ///< rings leave a member little rather than room in the others
  bool uneven = false;           ///< rings fill slots up to the cap before they are split evenly
  bool on_nodes = false;         ///< even rings leave whole nodes free, not the fullest slots
};

/// Fills one wave after another; keeps its work space.
class WaveFiller {
 public:
  explicit WaveFiller(const WaveBatch& batch);
  /// Fills all slots up to `level` ns with the longest free items that fit, and takes them. The longest free
  /// item always finds a place, if need be above the level. With kAll, waste does not matter.
  FilledWave fill(FreeItems& free, int64_t level, WaveGoal goal);
  void set_style(const FillStyle& style) { style_ = style; }  ///< of later fills
  int64_t num_looks() const { return num_looks_; }  ///< slots looked at so far, the measure of effort

 private:
  struct Slot {
    int64_t ns = 0, tokens = 0, segments = 0;
  };
  struct Room {
    int64_t tokens;
    int slot;
  };
  struct RoomQuestion {
    int64_t most = -1, ns = 0, tokens = 0, cp = 0;
    bool between = false;
    bool operator==(const RoomQuestion&) const = default;
  };

  void begin(int64_t level);
  void place_rings(FreeItems& free);
  void place_wholes(FreeItems& free);
  void place_splits(FreeItems& free);
  void place_rest(FreeItems& free);
  bool pour(int64_t item, int64_t most_slots, int64_t most_ns);
  bool pour_unevenly(int64_t item, int64_t most_slots, int64_t most_ns);
  bool pour_anywhere(int64_t item);
  bool pour_evenly(int64_t item, int64_t most_slots, int64_t most_ns);
  bool find_emptiest(int64_t cp, int64_t tokens, int64_t ns);
  bool find_nodes(int64_t cp, int64_t tokens, int64_t ns);
  bool find_rooms(int64_t tokens, int64_t most_slots, int64_t cp);
  void spread(int64_t tokens);
  bool price(int64_t most_ns);
  void price_blocks();
  bool settle(int64_t item, int64_t most_ns);
  int64_t room_of(const Slot& slot, int64_t tokens, int64_t cp);
  bool is_full(const Slot& slot) const;
  void put(int64_t item, int slot, int64_t tokens, int64_t ns);
  void push(int slot);
  const WaveBatch& batch_;
  int64_t level_ = 0, segment_cap_, used_ns_ = 0, used_tokens_ = 0;
  bool assume_between_ = false;  // rings being poured lie on several nodes, whatever their size
  FillStyle style_;
  std::vector<Slot> slots_;
  SlotHeap heap_;
  std::vector<Room> rooms_;                              // of the item being poured
  std::vector<int64_t> shards_, shard_ns_;               // of the same
  std::vector<std::pair<int64_t, int64_t>> same_sizes_;  // of the same: (tokens, how many)
  std::vector<int> aside_;
  RoomQuestion last_question_;
  int64_t last_room_ = 0, num_looks_ = 0;
  FilledWave wave_;
};

/// Lower bound on the makespan of any plan in lock-step, without the all-reduce; `sorted_lengths` descending.
/// Note [Wave bound] has the argument.
int64_t wave_bound_time(const std::vector<int64_t>& sorted_lengths, const FixedCost& cost,
                        const Cluster& cluster);

/// The fastest plan found for a cluster in lock-step; nothing when the samples don't fit.
std::optional<Plan> plan_waves(const std::vector<int64_t>& lengths, const CostModel& cost,
                               const Cluster& cluster);

}  // namespace zoetrope
