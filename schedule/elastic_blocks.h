// A plan in the making: per slot a sequence of blocks. A block is what its slots run in one wave together:
// one slot with whole samples, or the slots of an even ring. Waves are numbered at the end. Flat arrays,
// since the planner drafts many plans and keeps few.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/elastic.h"
#include "schedule/plan.h"

namespace zoetrope {

class BlockDraft {
 public:
  explicit BlockDraft(const ElasticBatch& batch);

  /// Appends a ring of even shards on `slots`, ascending; `item` is the sample's rank in the batch. Returns
  /// the index of its first member.
  int add_even_ring(const std::vector<int>& slots, int64_t item);
  int slot_of(int member) const { return members_[size_t(member)].slot; }
  /// Appends a place for blocks that come later; returns the bin's index.
  int open_bin(int slot);
  /// Adds a whole sample to a block of the bin, or to a new one (kNewBlock).
  void add_whole(int bin, int block, int64_t item);
  static constexpr int kNewBlock = -1;
  /// A block of the bin that has room for a whole sample of so many tokens; kNewBlock: none found.
  int block_with_room(int bin, int64_t tokens);

  /// Joins blocks that follow each other on the same slots, where the caps allow it.
  void merge_waves();
  /// Numbers the waves: a block's wave is one more than the largest of its slots' previous blocks.
  Plan to_plan();

 private:
  struct Member {
    int block, slot;
    int64_t tokens, segments;  ///< joined blocks included
    int last;                  ///< where the last joined block stands in `sequence_`
  };
  struct Block {
    int first_member, cp;
    int64_t first_item, last_item;  ///< a chain by `next_item_` unless it is a ring
    int next_in_bin;
    int leader;  ///< the block it joined, or itself
  };
  struct Bin {
    int slot, first_block, last_block, first_open;
  };
  struct Entry {
    int member, bin, next;  ///< one of both, else -1; the slot's next entry
  };

  bool has_room(const Member& member, int64_t tokens, int64_t segments) const {
    return member.tokens + tokens <= batch_.cluster.tokens_per_slot &&
           member.segments + segments <= batch_.segment_cap();
  }
  void append(int slot, const Entry& entry);
  void make_sequences();
  int leader_of(int block);
  /// The member that follows a block and those it joined on a member's slot; -1: none.
  int following(const Member& member) const;
  bool joinable(const Block& block) const;
  void join(int block);
  void write_wave(int leader, Wave& wave, std::vector<int>& position);
  void write_shards(const Member& member, int index, std::vector<Shard>& shards) const;

  const ElasticBatch& batch_;
  std::vector<Member> members_;
  std::vector<Block> blocks_;
  std::vector<Bin> bins_;
  std::vector<Entry> entries_;
  std::vector<int> first_entry_, last_entry_;  ///< by slot
  std::vector<int64_t> next_item_;
  std::vector<int> sequence_, begin_of_;  ///< members in order, slot after slot; where each slot begins
};

}  // namespace zoetrope
