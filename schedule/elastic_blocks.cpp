#include "schedule/elastic_blocks.h"

#include <algorithm>

namespace zoetrope {

constexpr int kMostOpen = 32;  // blocks of a bin that are looked at for a sample

BlockDraft::BlockDraft(const ElasticBatch& batch)
    : batch_(batch),
      first_entry_(size_t(batch.cluster.num_slots), -1),
      last_entry_(first_entry_),
      next_item_(size_t(batch.num_samples()), -1) {}

void BlockDraft::append(int slot, const Entry& entry) {
  int& last = last_entry_[size_t(slot)];
  (last < 0 ? first_entry_[size_t(slot)] : entries_[size_t(last)].next) = int(entries_.size());
  last = int(entries_.size());
  entries_.push_back(entry);
}

int BlockDraft::add_even_ring(const std::vector<int>& slots, int64_t item) {
  const int block = int(blocks_.size()), first = int(members_.size()), cp = int(slots.size());
  const int64_t tokens = batch_.tokens[size_t(item)];
  blocks_.push_back({first, cp, item, item, -1, block});
  for (int i = 0; i < cp; ++i) {
    append(slots[size_t(i)], {first + i, -1, -1});
    members_.push_back({block, slots[size_t(i)], tokens / cp + (i < tokens % cp ? 1 : 0), 1, -1});
  }
  return first;
}

int BlockDraft::open_bin(int slot) {
  const int bin = int(bins_.size());
  bins_.push_back({slot, -1, -1, -1});
  append(slot, {-1, bin, -1});
  return bin;
}

void BlockDraft::add_whole(int bin_index, int block_index, int64_t item) {
  if (block_index == kNewBlock) {
    block_index = int(blocks_.size());
    Bin& bin = bins_[size_t(bin_index)];
    blocks_.push_back({int(members_.size()), 1, item, item, -1, block_index});
    members_.push_back({block_index, bin.slot, 0, 0, -1});
    (bin.last_block < 0 ? bin.first_block : blocks_[size_t(bin.last_block)].next_in_bin) = block_index;
    if (bin.first_open < 0) bin.first_open = block_index;
    bin.last_block = block_index;
  } else {
    next_item_[size_t(blocks_[size_t(block_index)].last_item)] = item;
    blocks_[size_t(block_index)].last_item = item;
  }
  Member& member = members_[size_t(blocks_[size_t(block_index)].first_member)];
  member.tokens += batch_.tokens[size_t(item)];
  ++member.segments;
}

int BlockDraft::block_with_room(int bin_index, int64_t tokens) {
  Bin& bin = bins_[size_t(bin_index)];
  const auto fits = [&](int block, int64_t more) {
    return has_room(members_[size_t(blocks_[size_t(block)].first_member)], more, 1);
  };
  while (bin.first_open >= 0 && !fits(bin.first_open, batch_.tokens.back()))
    bin.first_open = blocks_[size_t(bin.first_open)].next_in_bin;
  if (bin.first_open >= 0 && fits(bin.last_block, tokens)) return bin.last_block;
  int block = bin.first_open;
  for (int i = 0; block >= 0 && i < kMostOpen; ++i, block = blocks_[size_t(block)].next_in_bin)
    if (fits(block, tokens)) return block;
  return kNewBlock;
}

void BlockDraft::make_sequences() {
  if (!begin_of_.empty()) return;
  sequence_.reserve(members_.size());
  for (int entry : first_entry_) {
    begin_of_.push_back(int(sequence_.size()));
    for (; entry >= 0; entry = entries_[size_t(entry)].next) {
      const Entry& at = entries_[size_t(entry)];
      if (at.member >= 0) sequence_.push_back(at.member);
      else
        for (int b = bins_[size_t(at.bin)].first_block; b >= 0; b = blocks_[size_t(b)].next_in_bin)
          sequence_.push_back(blocks_[size_t(b)].first_member);
    }
  }
  begin_of_.push_back(int(sequence_.size()));
  for (size_t i = 0; i < sequence_.size(); ++i) members_[size_t(sequence_[i])].last = int(i);
}

int BlockDraft::leader_of(int block) {
  int leader = block;
  while (blocks_[size_t(leader)].leader != leader) leader = blocks_[size_t(leader)].leader;
  return blocks_[size_t(block)].leader = leader;
}

int BlockDraft::following(const Member& member) const {
  const int next = member.last + 1;
  return next < begin_of_[size_t(member.slot) + 1] ? sequence_[size_t(next)] : -1;
}

/// True when what follows on all members is whole samples of their own, or one ring of the same members, and
/// the caps hold.
bool BlockDraft::joinable(const Block& block) const {
  bool any = false, all_solo = true, same_ring = true;
  int ring = -1;
  for (int i = 0; i < block.cp; ++i) {
    const Member& member = members_[size_t(block.first_member + i)];
    const int next = following(member);
    const int next_block = next < 0 ? -1 : members_[size_t(next)].block;
    if (i == 0) ring = next_block;
    same_ring = same_ring && next_block == ring;
    if (next < 0) continue;
    any = true;
    all_solo = all_solo && blocks_[size_t(next_block)].cp == 1;
    if (!has_room(member, members_[size_t(next)].tokens, members_[size_t(next)].segments)) return false;
  }
  return any && (all_solo || (same_ring && blocks_[size_t(ring)].cp == block.cp));
}

void BlockDraft::join(int block) {
  for (int i = 0; i < blocks_[size_t(block)].cp; ++i) {
    Member& member = members_[size_t(blocks_[size_t(block)].first_member + i)];
    const int next = following(member);
    if (next < 0) continue;
    const Member& joined = members_[size_t(next)];
    member.tokens += joined.tokens;
    member.segments += joined.segments;
    member.last = joined.last;
    blocks_[size_t(joined.block)].leader = block;
  }
}

void BlockDraft::merge_waves() {
  make_sequences();
  for (int b = 0; b < int(blocks_.size()); ++b)
    while (blocks_[size_t(b)].leader == b && joinable(blocks_[size_t(b)])) join(b);
}

void BlockDraft::write_shards(const Member& member, int index, std::vector<Shard>& shards) const {
  const Block& block = blocks_[size_t(member.block)];
  if (block.cp == 1) {
    for (int64_t item = block.first_item; item >= 0; item = next_item_[size_t(item)])
      shards.push_back({batch_.sample[size_t(item)], 0, batch_.tokens[size_t(item)]});
    return;
  }
  const int64_t tokens = batch_.tokens[size_t(block.first_item)], cp = block.cp;
  const int64_t begin = index * (tokens / cp) + std::min<int64_t>(index, tokens % cp);
  const int64_t end = begin + tokens / cp + (index < tokens % cp ? 1 : 0);
  shards.push_back({batch_.sample[size_t(block.first_item)], begin, end});
}

void BlockDraft::write_wave(int leader, Wave& wave, std::vector<int>& position) {
  const Block block = blocks_[size_t(leader)];
  for (int i = 0; i < block.cp; ++i) {
    const Member& own = members_[size_t(block.first_member + i)];
    auto& shards = wave.slots[size_t(own.slot)];
    shards.reserve(size_t(own.segments));
    int& at = position[size_t(own.slot)];
    for (; at <= own.last; ++at) {
      const int member = sequence_[size_t(at)];
      const Block& joined = blocks_[size_t(members_[size_t(member)].block)];
      write_shards(members_[size_t(member)], member - joined.first_member, shards);
      if (joined.cp > 1 && member == joined.first_member)
        wave.rings.push_back({batch_.sample[size_t(joined.first_item)], Exchange::kRing});
    }
  }
}

Plan BlockDraft::to_plan() {
  make_sequences();
  std::vector<int> position(begin_of_.begin(), begin_of_.end() - 1), arrived(blocks_.size(), 0), ready;
  std::vector<size_t> wave(blocks_.size(), 0);
  const auto arrive = [&](int slot) {
    if (position[size_t(slot)] == begin_of_[size_t(slot) + 1]) return;
    const int leader = leader_of(members_[size_t(sequence_[size_t(position[size_t(slot)])])].block);
    if (++arrived[size_t(leader)] == blocks_[size_t(leader)].cp) ready.push_back(leader);
  };
  Plan plan;
  for (int slot = 0; slot < int(first_entry_.size()); ++slot) arrive(slot);
  while (!ready.empty()) {
    const int leader = ready.back();
    ready.pop_back();
    const size_t at = wave[size_t(leader)];
    if (plan.waves.size() <= at)
      plan.waves.resize(at + 1, {std::vector<std::vector<Shard>>(first_entry_.size()), {}});
    write_wave(leader, plan.waves[at], position);
    for (int i = 0; i < blocks_[size_t(leader)].cp; ++i) {
      const int slot = members_[size_t(blocks_[size_t(leader)].first_member + i)].slot;
      if (position[size_t(slot)] < begin_of_[size_t(slot) + 1]) {
        const int next = leader_of(members_[size_t(sequence_[size_t(position[size_t(slot)])])].block);
        wave[size_t(next)] = std::max(wave[size_t(next)], at + 1);
      }
      arrive(slot);
    }
  }
  std::vector<int64_t> tokens_of(batch_.sample.size());
  for (size_t item = 0; item < batch_.sample.size(); ++item)
    tokens_of[size_t(batch_.sample[item])] = batch_.tokens[item];
  for (Wave& each : plan.waves) order_rings(each, tokens_of);
  return plan;
}

}  // namespace zoetrope
