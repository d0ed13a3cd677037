// A plan in the making: per slot a sequence of blocks. A block is what its slots run in one wave together:
// one slot with whole samples, or the slots of a ring. Waves are numbered at the end.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/elastic.h"
#include "schedule/plan.h"

namespace zoetrope {

class BlockDraft {
 public:
  explicit BlockDraft(int64_t num_slots) : slots_(size_t(num_slots)) {}

  /// Appends a ring of even shards on `members`; `item` is the sample's rank in the batch.
  void add_even_ring(const std::vector<int>& members, int64_t item, int64_t tokens);
  /// Appends a place for blocks that come later: bin `bin` of the slot.
  void reserve_position(int slot, int bin) { slots_[size_t(slot)].push_back({-1, bin}); }
  /// A new block for whole samples, in the slot's bin.
  int open_solo(int slot, int bin);
  void add_whole(int block, int64_t item, int64_t tokens);
  /// True when a block of one slot has room for a whole sample of so many tokens.
  bool fits(const ElasticBatch& batch, int block, int64_t tokens) const;

  /// Joins blocks that follow each other on the same slots, where the caps allow it.
  void merge_waves(const ElasticBatch& batch);
  /// Numbers the waves: a block's wave is one more than the largest of its slots' previous blocks.
  Plan to_plan(const ElasticBatch& batch) const;

 private:
  struct Block {
    std::vector<int> members;
    std::vector<std::vector<Shard>> shards;  ///< by member; `sample` is the rank in the batch
    std::vector<int64_t> tokens;
  };
  struct Entry {
    int block, bin;
  };  ///< a ring's block, or the blocks of a bin

  /// Blocks of each slot in order.
  std::vector<std::vector<int>> sequences() const;
  /// True when what follows on all members is whole samples of their own, or one ring of the same members.
  bool joinable(const std::vector<int>& members, const std::vector<int>& next) const;
  /// Joins what follows on each member (-1: nothing) into a block unless the caps forbid it.
  bool join_if_fits(const ElasticBatch& batch, int into, const std::vector<int>& next);

  std::vector<Block> blocks_;
  std::vector<std::vector<Entry>> slots_;
  std::vector<std::vector<int>> bin_blocks_;
  std::vector<std::vector<int>> merged_;  ///< sequences after merging; empty: not merged
};

}  // namespace zoetrope
