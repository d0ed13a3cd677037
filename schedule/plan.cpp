#include "schedule/plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/check.h"
#include "core/files.h"

namespace zoetrope {
namespace {

/// Shards of one sample while a plan is checked.
struct Found {
  int64_t wave = -1;
  std::vector<std::pair<int64_t, int64_t>> ranges;
};

/// A shard of a wave on its slot.
struct Piece {
  int64_t sample, begin, tokens;
  int slot;
};

/// All shards of a wave by sample, then by first token. Counting sort where the numbers are dense, as they
/// are when few waves hold all samples; else it would cost every wave the whole batch.
std::vector<Piece> pieces_by_sample(const Wave& wave) {
  int64_t least = INT64_MAX, most = -1;
  size_t count = 0;
  for (const auto& slot : wave.slots)
    for (const Shard& shard : slot) {
      least = std::min(least, shard.sample);
      most = std::max(most, shard.sample);
      ++count;
    }
  std::vector<Piece> pieces(count);
  const auto before = [](const Piece& a, const Piece& b) {
    return a.sample != b.sample ? a.sample < b.sample : a.begin < b.begin;
  };
  if (count == 0) return pieces;
  const size_t range = size_t(most - least) + 1;
  const bool dense = range <= 8 * count;
  std::vector<size_t> next(dense ? range + 1 : 0, 0);
  if (dense) {
    for (const auto& slot : wave.slots)
      for (const Shard& shard : slot) ++next[size_t(shard.sample - least) + 1];
    for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  }
  size_t at = 0;
  for (size_t slot = 0; slot < wave.slots.size(); ++slot)
    for (const Shard& shard : wave.slots[slot])
      pieces[dense ? next[size_t(shard.sample - least)]++ : at++] = {shard.sample, shard.begin,
                                                                     shard.num_tokens(), int(slot)};
  if (!std::is_sorted(pieces.begin(), pieces.end(), before)) std::sort(pieces.begin(), pieces.end(), before);
  return pieces;
}

void check_ranges(std::vector<Found>& found, const std::vector<int64_t>& lengths) {
  for (size_t sample = 0; sample < lengths.size(); ++sample) {
    auto& ranges = found[sample].ranges;
    std::sort(ranges.begin(), ranges.end());
    int64_t covered = 0;
    for (const auto& [begin, end] : ranges) {
      ZT_REQUIRE(begin == covered, "plan: sample ", sample, ", wave ", found[sample].wave,
                 ": a shard begins at token ", begin, ", expected ", covered,
                 " (tokens are covered exactly once, without gaps)");
      covered = end;
    }
    ZT_REQUIRE(covered == lengths[sample], "plan: sample ", sample, " has ", lengths[sample],
               " tokens, the plan covers ", covered);
  }
}

void check_rings(const Wave& wave, int64_t wave_index) {
  const std::vector<RingView> expected = split_samples(wave);
  ZT_REQUIRE(expected.size() == wave.rings.size(), "plan: wave ", wave_index, " lists ", wave.rings.size(),
             " rings, but ", expected.size(), " samples lie on more than one slot");
  for (size_t i = 0; i < expected.size(); ++i)
    ZT_REQUIRE(expected[i].sample == wave.rings[i].sample, "plan: wave ", wave_index, ", ring ", i,
               " is of sample ", wave.rings[i].sample, ", expected ", expected[i].sample,
               " (split samples by length, then number)");
}

}  // namespace

const char* name_of(Exchange exchange) {
  switch (exchange) {
    case Exchange::kRing: return "ring";
    case Exchange::kAllGather: return "all-gather";
    case Exchange::kAllToAll: return "all-to-all";
    case Exchange::kHierarchical: return "hierarchical";
  }
  return "?";
}

Exchange exchange_from(const std::string& name) {
  std::string names;
  for (const Exchange exchange :
       {Exchange::kRing, Exchange::kAllGather, Exchange::kAllToAll, Exchange::kHierarchical}) {
    if (name == name_of(exchange)) return exchange;
    names += (names.empty() ? "" : ", ") + std::string(name_of(exchange));
  }
  throw Error(join_message("exchange scheme '", name, "', expected one of ", names));
}

std::vector<int> ring_members(const Wave& wave, int64_t sample) {
  std::vector<std::pair<int64_t, int>> first;
  for (size_t slot = 0; slot < wave.slots.size(); ++slot) {
    int64_t begin = -1;
    for (const Shard& shard : wave.slots[slot])
      if (shard.sample == sample && (begin < 0 || shard.begin < begin)) begin = shard.begin;
    if (begin >= 0) first.emplace_back(begin, int(slot));
  }
  std::sort(first.begin(), first.end());
  std::vector<int> members;
  members.reserve(first.size());
  for (const auto& entry : first) members.push_back(entry.second);
  return members;
}

// Note [Order of rings]
// All ranks issue their exchanges in one global order of rings, so that nobody waits in a circle. In every
// layer a rank with two rings is held up in the second by what its mates wait for in the first. Any order is
// right; with rings in order of sample numbers, which are the order of drawing, the layer-by-layer simulation
// of lock-step plans on 64 ranks took up to 14 % longer than their busiest ranks (T2, h100 set), from short
// to long samples 1 %, from long to short 2 %: rings of like length begin and end together.

std::vector<RingView> split_samples(const Wave& wave) {
  const std::vector<Piece> pieces = pieces_by_sample(wave);
  std::vector<int64_t> owner(wave.slots.size(), -1), index(wave.slots.size(), 0);
  std::vector<RingView> rings;
  for (auto from = pieces.begin(), to = from; from != pieces.end(); from = to) {
    const int64_t sample = from->sample;
    to = std::find_if(from, pieces.end(), [&](const Piece& piece) { return piece.sample != sample; });
    if (to - from < 2) continue;
    RingView ring{sample, {}, {}};
    ring.members.reserve(size_t(to - from));
    ring.tokens.reserve(size_t(to - from));
    for (auto piece = from; piece != to; ++piece) {
      const size_t slot = size_t(piece->slot);
      if (owner[slot] != sample) {
        owner[slot] = sample;
        index[slot] = int64_t(ring.members.size());
        ring.members.push_back(piece->slot);
        ring.tokens.push_back(0);
      }
      ring.tokens[size_t(index[slot])] += piece->tokens;
    }
    if (ring.members.size() > 1) rings.push_back(std::move(ring));
  }
  std::vector<std::pair<int64_t, size_t>> order;  // (tokens, index): by number where tokens are equal
  order.reserve(rings.size());
  for (size_t i = 0; i < rings.size(); ++i)
    order.emplace_back(std::accumulate(rings[i].tokens.begin(), rings[i].tokens.end(), int64_t(0)), i);
  if (std::is_sorted(order.begin(), order.end())) return rings;
  std::sort(order.begin(), order.end());
  std::vector<RingView> ordered;
  ordered.reserve(rings.size());
  for (const auto& [tokens, index] : order) ordered.push_back(std::move(rings[index]));
  return ordered;
}

std::vector<bool> split_flags(const std::vector<RingView>& rings) {
  int64_t last = -1;
  for (const RingView& ring : rings) last = std::max(last, ring.sample);
  std::vector<bool> flags(size_t(last + 1), false);
  for (const RingView& ring : rings) flags[size_t(ring.sample)] = true;
  return flags;
}

void order_rings(Wave& wave, const std::vector<int64_t>& lengths) {
  std::sort(wave.rings.begin(), wave.rings.end(), [&](const Ring& a, const Ring& b) {
    return std::pair(lengths[size_t(a.sample)], a.sample) < std::pair(lengths[size_t(b.sample)], b.sample);
  });
}

void order_rings(Wave& wave) {
  std::map<int64_t, size_t> place;
  for (const RingView& view : split_samples(wave)) place.emplace(view.sample, place.size());
  const auto place_of = [&](const Ring& ring) {
    const auto found = place.find(ring.sample);
    return found == place.end() ? place.size() : found->second;
  };
  std::stable_sort(wave.rings.begin(), wave.rings.end(),
                   [&](const Ring& a, const Ring& b) { return place_of(a) < place_of(b); });
}

void list_rings(Plan& plan) {
  for (Wave& wave : plan.waves) {
    wave.rings.clear();
    for (const RingView& ring : split_samples(wave)) wave.rings.push_back({ring.sample, Exchange::kRing});
  }
}

void validate_plan(const Plan& plan, const std::vector<int64_t>& lengths, int64_t num_slots) {
  std::vector<Found> found(lengths.size());
  for (int64_t w = 0; w < int64_t(plan.waves.size()); ++w) {
    const Wave& wave = plan.waves[size_t(w)];
    ZT_REQUIRE(int64_t(wave.slots.size()) == num_slots, "plan: wave ", w, " has ", wave.slots.size(),
               " slots, expected ", num_slots);
    for (int64_t s = 0; s < num_slots; ++s)
      for (const Shard& shard : wave.slots[size_t(s)]) {
        ZT_REQUIRE(shard.sample >= 0 && shard.sample < int64_t(lengths.size()), "plan: wave ", w, ", slot ",
                   s, " names sample ", shard.sample, ", the batch has ", lengths.size());
        ZT_REQUIRE(shard.begin >= 0 && shard.begin < shard.end, "plan: wave ", w, ", slot ", s, ", sample ",
                   shard.sample, ": tokens [", shard.begin, ", ", shard.end, ") are no range");
        Found& sample = found[size_t(shard.sample)];
        ZT_REQUIRE(sample.wave < 0 || sample.wave == w, "plan: sample ", shard.sample, " lies in waves ",
                   sample.wave, " and ", w, " (slot ", s, "), expected one wave");
        sample.wave = w;
        sample.ranges.emplace_back(shard.begin, shard.end);
      }
    check_rings(wave, w);
  }
  check_ranges(found, lengths);
}

uint64_t hash_of(const Plan& plan) {
  std::string bytes;
  const auto put = [&](int64_t value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(int64_t(plan.waves.size()));
  for (const Wave& wave : plan.waves) {
    put(int64_t(wave.slots.size()));
    for (const auto& slot : wave.slots) {
      put(int64_t(slot.size()));
      for (const Shard& shard : slot) {
        put(shard.sample);
        put(shard.begin);
        put(shard.end);
      }
    }
    put(int64_t(wave.rings.size()));
    for (const Ring& ring : wave.rings) {
      put(ring.sample);
      put(int64_t(ring.exchange));
    }
  }
  return fnv1a(bytes);
}

std::vector<int64_t> cp_sizes_of(const Plan& plan) {
  std::set<int64_t> sizes;
  for (const Wave& wave : plan.waves) {
    std::set<int64_t> split;
    for (const RingView& ring : split_samples(wave)) {
      sizes.insert(int64_t(ring.members.size()));
      split.insert(ring.sample);
    }
    for (const auto& slot : wave.slots)
      for (const Shard& shard : slot)
        if (!split.count(shard.sample)) sizes.insert(1);
  }
  return {sizes.begin(), sizes.end()};
}

int64_t tokens_of(const std::vector<Shard>& slot) {
  int64_t tokens = 0;
  for (const Shard& shard : slot) tokens += shard.num_tokens();
  return tokens;
}

int64_t max_tokens_per_slot(const Plan& plan) {
  int64_t most = 0;
  for (const Wave& wave : plan.waves)
    for (const auto& slot : wave.slots) most = std::max(most, tokens_of(slot));
  return most;
}

int64_t max_segments_per_slot(const Plan& plan) {
  size_t most = 0;
  for (const Wave& wave : plan.waves)
    for (const auto& slot : wave.slots) most = std::max(most, slot.size());
  return int64_t(most);
}

}  // namespace zoetrope
