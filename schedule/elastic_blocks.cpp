#include "schedule/elastic_blocks.h"

#include <algorithm>

namespace zoetrope {

void BlockDraft::add_even_ring(const std::vector<int>& members, int64_t item, int64_t tokens) {
  const int64_t cp = int64_t(members.size());
  Block block{members, {}, {}};
  int64_t begin = 0;
  for (int64_t i = 0; i < cp; ++i) {
    const int64_t own = tokens / cp + (i < tokens % cp ? 1 : 0);
    block.shards.push_back({{item, begin, begin + own}});
    block.tokens.push_back(own);
    begin += own;
    slots_[size_t(members[size_t(i)])].push_back({int(blocks_.size()), -1});
  }
  blocks_.push_back(std::move(block));
}

int BlockDraft::open_solo(int slot, int bin) {
  if (bin_blocks_.size() <= size_t(bin)) bin_blocks_.resize(size_t(bin) + 1);
  bin_blocks_[size_t(bin)].push_back(int(blocks_.size()));
  blocks_.push_back({{slot}, {{}}, {0}});
  return int(blocks_.size()) - 1;
}

void BlockDraft::add_whole(int block, int64_t item, int64_t tokens) {
  blocks_[size_t(block)].shards[0].push_back({item, 0, tokens});
  blocks_[size_t(block)].tokens[0] += tokens;
}

bool BlockDraft::fits(const ElasticBatch& batch, int block, int64_t tokens) const {
  const Block& at = blocks_[size_t(block)];
  return at.tokens[0] + tokens <= batch.cluster.tokens_per_slot &&
         int64_t(at.shards[0].size()) < batch.segment_cap();
}

std::vector<std::vector<int>> BlockDraft::sequences() const {
  if (!merged_.empty()) return merged_;
  std::vector<std::vector<int>> result(slots_.size());
  for (size_t slot = 0; slot < slots_.size(); ++slot)
    for (const Entry& entry : slots_[slot]) {
      if (entry.block >= 0) result[slot].push_back(entry.block);
      else if (size_t(entry.bin) < bin_blocks_.size())
        result[slot].insert(result[slot].end(), bin_blocks_[size_t(entry.bin)].begin(),
                            bin_blocks_[size_t(entry.bin)].end());
    }
  return result;
}

bool BlockDraft::join_if_fits(const ElasticBatch& batch, int into, const std::vector<int>& next) {
  Block& block = blocks_[size_t(into)];
  const auto index_in = [&](int other, int slot) {
    const auto& members = blocks_[size_t(other)].members;
    return size_t(std::find(members.begin(), members.end(), slot) - members.begin());
  };
  for (size_t i = 0; i < block.members.size(); ++i) {
    if (next[i] < 0) continue;
    const size_t at = index_in(next[i], block.members[i]);
    const Block& other = blocks_[size_t(next[i])];
    if (block.tokens[i] + other.tokens[at] > batch.cluster.tokens_per_slot ||
        int64_t(block.shards[i].size() + other.shards[at].size()) > batch.segment_cap())
      return false;
  }
  for (size_t i = 0; i < block.members.size(); ++i) {
    if (next[i] < 0) continue;
    const size_t at = index_in(next[i], block.members[i]);
    const Block& other = blocks_[size_t(next[i])];
    block.tokens[i] += other.tokens[at];
    block.shards[i].insert(block.shards[i].end(), other.shards[at].begin(), other.shards[at].end());
  }
  return true;
}

bool BlockDraft::joinable(const std::vector<int>& members, const std::vector<int>& next) const {
  bool any = false, all_solo = true, same_ring = true;
  for (int block : next) {
    any = any || block >= 0;
    all_solo = all_solo && (block < 0 || blocks_[size_t(block)].members.size() == 1);
    same_ring = same_ring && block == next[0];
  }
  return any && (all_solo || (same_ring && blocks_[size_t(next[0])].members == members));
}

void BlockDraft::merge_waves(const ElasticBatch& batch) {
  std::vector<std::vector<int>> order = sequences();
  std::vector<bool> gone(blocks_.size(), false);
  const auto next_of = [&](int slot, int block) {
    const auto& list = order[size_t(slot)];
    const auto at = std::find(list.begin(), list.end(), block);
    return at + 1 == list.end() ? -1 : *(at + 1);
  };
  for (int b = 0; b < int(blocks_.size()); ++b) {
    if (gone[size_t(b)]) continue;
    while (true) {
      const std::vector<int> members = blocks_[size_t(b)].members;
      std::vector<int> next;
      next.reserve(members.size());
      for (int slot : members) next.push_back(next_of(slot, b));
      if (!joinable(members, next) || !join_if_fits(batch, b, next)) break;
      for (size_t i = 0; i < members.size(); ++i)
        if (next[i] >= 0) {
          gone[size_t(next[i])] = true;
          auto& list = order[size_t(members[i])];
          list.erase(std::find(list.begin(), list.end(), next[i]));
        }
    }
  }
  merged_ = std::move(order);
}

Plan BlockDraft::to_plan(const ElasticBatch& batch) const {
  const std::vector<std::vector<int>> order = sequences();
  std::vector<size_t> position(order.size(), 0);
  std::vector<size_t> arrived(blocks_.size(), 0), wave(blocks_.size(), 0), ready;
  const auto arrive = [&](size_t slot) {
    if (position[slot] == order[slot].size()) return;
    const size_t block = size_t(order[slot][position[slot]]);
    if (++arrived[block] == blocks_[block].members.size()) ready.push_back(block);
  };
  Plan plan;
  for (size_t slot = 0; slot < order.size(); ++slot) arrive(slot);
  while (!ready.empty()) {
    const size_t index = ready.back();
    ready.pop_back();
    const Block& block = blocks_[index];
    if (plan.waves.size() <= wave[index])
      plan.waves.resize(wave[index] + 1, {std::vector<std::vector<Shard>>(order.size()), {}});
    for (size_t i = 0; i < block.members.size(); ++i) {
      const size_t slot = size_t(block.members[i]);
      auto& shards = plan.waves[wave[index]].slots[slot];
      for (Shard shard : block.shards[i]) {
        shard.sample = batch.sample[size_t(shard.sample)];
        shards.push_back(shard);
      }
      if (++position[slot] < order[slot].size()) {
        size_t& next = wave[size_t(order[slot][position[slot]])];
        next = std::max(next, wave[index] + 1);
      }
      arrive(slot);
    }
  }
  list_rings(plan);
  return plan;
}

}  // namespace zoetrope
