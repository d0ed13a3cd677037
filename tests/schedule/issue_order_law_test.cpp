// Law 2, "no rank waits in a circle": the order in which ranks issue their transfers, run through blocking
// rendezvous.
#include "schedule/issue_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace zoetrope {
namespace {

/// Random waves of random rings with members in random order, several rings per slot.
Plan random_plan(std::mt19937_64& random) {
  const auto pick = [&](int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  };
  const int64_t num_slots = pick(1, 12), num_waves = pick(1, 4);
  Plan plan;
  int64_t sample = 0;
  for (int64_t w = 0; w < num_waves; ++w) {
    Wave wave;
    wave.slots.resize(size_t(num_slots));
    for (int64_t ring = pick(0, 6); ring > 0; --ring, ++sample) {
      std::vector<int> slots(static_cast<size_t>(num_slots));
      for (size_t i = 0; i < slots.size(); ++i) slots[i] = int(i);
      std::shuffle(slots.begin(), slots.end(), random);
      int64_t begin = 0;
      for (int64_t member = pick(1, num_slots); member > 0; --member) {
        const int64_t tokens = pick(1, 9);
        wave.slots[size_t(slots[size_t(member - 1)])].push_back({sample, begin, begin + tokens});
        begin += tokens;
      }
    }
    plan.waves.push_back(std::move(wave));
  }
  list_rings(plan);
  return plan;
}

std::vector<std::vector<IssuedTransfer>> sequences_of(const Plan& plan, int64_t num_blocks) {
  std::vector<std::vector<IssuedTransfer>> sequences;
  for (int slot = 0; slot < int(plan.num_slots()); ++slot)
    sequences.push_back(issue_order(plan, slot, num_blocks));
  return sequences;
}

TEST(IssueOrder, EndsForRandomPlansThroughBlockingRendezvous) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int run = 0; run < 300; ++run) {
    const Plan plan = random_plan(random);
    EXPECT_EQ(run_blocking(sequences_of(plan, 3)), "")
        << "seed " << seed << " run " << run << " " << plan_to_json(plan);
  }
}

TEST(IssueOrder, EveryBlockVisitsEveryMateAndGradientsComeBack) {
  for (int c : {1, 2, 3, 5, 8}) {
    std::vector<int> members;
    for (int i = 0; i < c; ++i) members.push_back((i * 3 + 2) % (c * 3 + 1));
    for (int member = 0; member < c; ++member) {
      const auto forward = ring_transfers(members, member, false),
                 backward = ring_transfers(members, member, true);
      ASSERT_EQ(int(forward.size()), c - 1);
      ASSERT_EQ(int(backward.size()), 2 * (c - 1));
      int keys_seen = 0;
      for (const RingTransfer& transfer : backward) {
        const int s = transfer.step, before = (member + c - s) % c, after = (member + s) % c;
        EXPECT_EQ(transfer.block_member, before);
        const bool keys = transfer.kind == TransferKind::kBackwardKeys;
        EXPECT_EQ(transfer.send_to, members[size_t(keys ? after : before)]);
        EXPECT_EQ(transfer.receive_from, members[size_t(keys ? before : after)]);
        if (keys) EXPECT_EQ(s, ++keys_seen);
        else EXPECT_LE(s, keys_seen) << "gradients of a block before its keys came";
      }
    }
  }
}

/// Two rings that share two ranks: the plan where a wrong order hurts.
Plan crossing_rings() {
  Plan plan;
  plan.waves.push_back({{{{0, 0, 4}, {1, 0, 4}}, {{0, 4, 8}, {1, 4, 8}}, {{1, 8, 9}}}, {}});
  list_rings(plan);
  return plan;
}

TEST(IssueOrder, AWrongOrderIsFoundAsACircle) {
  auto sequences = sequences_of(crossing_rings(), 1);
  ASSERT_EQ(run_blocking(sequences), "");
  const auto second_ring = std::find_if(sequences[0].begin(), sequences[0].end(),
                                        [](const IssuedTransfer& issued) { return issued.sample == 1; });
  std::rotate(sequences[0].begin(), second_ring, second_ring + 2);  // rank 0 begins with ring 1
  EXPECT_NE(run_blocking(sequences), "");
}

TEST(IssueOrder, AThreeRankCircleOfPairsIsFound) {
  Plan plan;  // rings {0,1}, {1,2}, {2,0}: each rank begins with another one
  plan.waves.push_back({{{{0, 0, 1}, {2, 1, 2}}, {{0, 1, 2}, {1, 0, 1}}, {{1, 1, 2}, {2, 0, 1}}}, {}});
  list_rings(plan);
  auto sequences = sequences_of(plan, 1);
  ASSERT_EQ(run_blocking(sequences), "");
  for (auto& sequence : sequences) sequence.resize(2);  // forward only
  // Rank 0 takes ring 0 first, rank 1 ring 1, rank 2 ring 2: everybody waits for the next one.
  std::reverse(sequences[1].begin(), sequences[1].end());
  std::reverse(sequences[2].begin(), sequences[2].end());
  EXPECT_NE(run_blocking(sequences).find("no rank can go on"), std::string::npos);
}

TEST(IssueOrder, ALostTransferIsFound) {
  auto sequences = sequences_of(crossing_rings(), 2);
  sequences[1].erase(sequences[1].begin() + 1);
  EXPECT_NE(run_blocking(sequences), "");
}

}  // namespace
}  // namespace zoetrope
