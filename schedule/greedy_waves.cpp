// The best-known rival: a power-of-two CP size per sample, wave by wave, after Megatron's
// `default_dynamic_cp` packing scheduler, from a description of it.
#include <algorithm>
#include <map>
#include <optional>

#include "schedule/even_shards.h"
#include "schedule/planner.h"

namespace zoetrope {
namespace {

// Note [Greedy waves]
// The longest leftover opens a wave on its least size, the least power of two at which its even shards keep
// the cap. Every other sample, by descending length, may join a group of its least size or twice, four times,
// ... that, or open one on free slots; of these it takes the first that keeps the projected maximum over all
// slots least. The projection is upstream's: a sample of S tokens is S^2 / cp of work, no linear part, no
// communication, no overheads; what a plan is timed with is the cost model, which has them all. Upstream's
// limit on that projection, 1.05 x (longest x cap), never binds: S^2 / cp summed over a slot is at most the
// longest times the slot's tokens. What finds no place waits for the next wave. No slot stays empty: the
// first of the smallest groups doubles until all are used; where no doubling fits (a pool that is no power
// of two) the wave is given up for one group of all slots.
// Differences: upstream refuses a sample whose rounded-up size exceeds a pool that would hold it (five of six
// ranks round up to eight); here it opens a wave of one group of all slots. Lengths needn't be multiples of
// the size: the fullest shard counts. Micro-batches aren't aligned to virtual pipeline stages.

struct Sample {
  int64_t number, tokens;
};

/// A slot's share of quadratic work, sum of squares / size, kept as a fraction.
struct Work {
  __int128 squares = 0;
  int64_t size = 1;
  bool operator<(const Work& other) const { return squares * other.size < other.squares * size; }
};

struct Group {
  explicit Group(int64_t slots) { work.size = size = slots; }
  int64_t size;        ///< slots
  int64_t tokens = 0;  ///< of the fullest slot
  Work work;
  std::vector<Sample> samples;
};

/// One wave while it is filled.
class GreedyWave {
 public:
  explicit GreedyWave(const Cluster& cluster) : cluster_(cluster), free_slots_(cluster.num_slots) {}

  /// Opens a group whatever it does to the maximum; the caller knows that it fits.
  void open(int64_t size, const Sample& sample) {
    by_size_[size].groups.push_back(groups_.size());
    groups_.emplace_back(size);
    free_slots_ -= size;
    put(groups_.size() - 1, sample);
    by_size_[size].most_room = std::max(by_size_[size].most_room, room(groups_.back()));
  }
  /// Puts the sample in the group, or on the free slots, that keep the maximum least; false: nowhere.
  bool place(const Sample& sample, int64_t least_size) {
    std::optional<size_t> best;
    int64_t best_size = 0;
    Work best_maximum;
    const auto consider = [&](size_t group, Work work) {
      work.squares += static_cast<__int128>(sample.tokens) * sample.tokens;
      const Work maximum = std::max(maximum_, work);
      if (best && !(maximum < best_maximum)) return;
      best = group, best_size = work.size, best_maximum = maximum;
    };
    const auto cannot_improve = [&] { return best && !(maximum_ < best_maximum); };
    for (int64_t size = least_size; size <= cluster_.num_slots && !cannot_improve(); size *= 2) {
      SizeGroups& same = by_size_[size];
      if (even_tokens(sample.tokens, size, 0) <= same.most_room) {
        int64_t most_room = 0;
        for (size_t g : same.groups) {
          most_room = std::max(most_room, room(groups_[g]));
          if (fits(groups_[g], sample)) consider(g, groups_[g].work);
          if (cannot_improve()) break;
        }
        if (!best) same.most_room = most_room;  // all were searched
      }
      if (free_slots_ >= size) consider(groups_.size(), {0, size});
    }
    if (!best) return false;
    if (*best == groups_.size()) open(best_size, sample);
    else put(*best, sample);
    return true;
  }
  /// Puts the sample in the first group if the caps allow it.
  bool append(const Sample& sample) {
    if (!fits(groups_[0], sample)) return false;
    put(0, sample);
    return true;
  }
  /// Doubles small groups until no slot is empty; false: there is no way.
  bool use_all_slots() {
    while (free_slots_ > 0) {
      const auto smallest = std::min_element(groups_.begin(), groups_.end(),
                                             [](const Group& a, const Group& b) { return a.size < b.size; });
      const int64_t more = std::min(2 * smallest->size, cluster_.num_slots) - smallest->size;
      if (more > free_slots_) return false;
      smallest->size += more;
      free_slots_ -= more;
    }
    return true;
  }
  void write(Wave& wave) const {
    int64_t first_slot = 0;
    for (const Group& group : groups_) {
      for (const Sample& sample : group.samples)
        put_even(wave, first_slot, group.size, sample.number, sample.tokens);
      first_slot += group.size;
    }
  }

 private:
  /// Groups of one size, oldest first; none has more room than `most_room`, so that full ones aren't
  /// searched.
  struct SizeGroups {
    std::vector<size_t> groups;
    int64_t most_room = 0;
  };

  /// Tokens that the fullest slot of a group can still take.
  int64_t room(const Group& group) const {
    if (cluster_.segments_per_slot > 0 && int64_t(group.samples.size()) >= cluster_.segments_per_slot)
      return 0;
    return cluster_.tokens_per_slot - group.tokens;
  }
  bool fits(const Group& group, const Sample& sample) const {
    return even_tokens(sample.tokens, group.size, 0) <= room(group);
  }
  void put(size_t index, const Sample& sample) {
    Group& group = groups_[index];
    group.tokens += even_tokens(sample.tokens, group.size, 0);
    group.work.squares += static_cast<__int128>(sample.tokens) * sample.tokens;
    group.samples.push_back(sample);
    maximum_ = std::max(maximum_, group.work);
  }

  const Cluster& cluster_;
  std::vector<Group> groups_;
  std::map<int64_t, SizeGroups> by_size_;
  Work maximum_;
  int64_t free_slots_;
};

/// Least power of two at which even shards keep the cap.
int64_t least_size(int64_t tokens, const Cluster& cluster) {
  int64_t size = 1;
  while (even_tokens(tokens, size, 0) > cluster.tokens_per_slot) size *= 2;
  return size;
}

/// Fills the wave with the longest samples; they leave `samples`.
void fill_wave(std::vector<Sample>& samples, const Cluster& cluster, Wave& empty) {
  std::vector<Sample> leftovers;
  const int64_t size = least_size(samples[0].tokens, cluster);
  if (size <= cluster.num_slots) {
    GreedyWave wave(cluster);
    wave.open(size, samples[0]);
    for (size_t i = 1; i < samples.size(); ++i)
      if (!wave.place(samples[i], least_size(samples[i].tokens, cluster))) leftovers.push_back(samples[i]);
    if (wave.use_all_slots()) {
      samples = std::move(leftovers);
      return wave.write(empty);
    }
  }
  leftovers.clear();
  GreedyWave wave(cluster);
  wave.open(cluster.num_slots, samples[0]);
  for (size_t i = 1; i < samples.size(); ++i)
    if (!wave.append(samples[i])) leftovers.push_back(samples[i]);
  samples = std::move(leftovers);
  return wave.write(empty);
}

}  // namespace

Plan plan_greedy_waves(const std::vector<int64_t>& lengths, const Cluster& cluster) {
  check_batch(lengths, cluster);
  std::vector<Sample> samples;
  for (int64_t sample : by_descending_length(lengths)) samples.push_back({sample, lengths[size_t(sample)]});
  Plan plan;
  while (!samples.empty()) fill_wave(samples, cluster, open_wave(plan, cluster.num_slots));
  list_rings(plan);
  return plan;
}

}  // namespace zoetrope
