#include "schedule/plan.h"

#include <gtest/gtest.h>

#include "core/check.h"

namespace zoetrope {
namespace {

/// Two waves on three slots; sample 0 is a ring of slots 2, 0 with slot 2 holding two ranges.
Plan small_plan() {
  Plan plan;
  plan.waves.push_back({{{{0, 4, 7}, {1, 0, 2}}, {}, {{0, 0, 4}, {0, 7, 9}}}, {}});
  plan.waves.push_back({{{}, {{2, 0, 5}}, {}}, {}});
  list_rings(plan);
  return plan;
}

const std::vector<int64_t> kLengths{9, 2, 5};

TEST(Plan, JsonKeepsTheFormatAndReadsBack) {
  const Plan plan = small_plan();
  const std::string text = plan_to_json(plan);
  EXPECT_EQ(text,
            "{\"version\":1,\"waves\":[{\"slots\":[[[0,4,7],[1,0,2]],[],[[0,0,4],[0,7,9]]],"
            "\"rings\":[{\"sample\":0,\"exchange\":\"ring\"}]},{\"slots\":[[],[[2,0,5]],[]],\"rings\":[]}]}");
  EXPECT_EQ(plan_from_json(text, "text"), plan);
  EXPECT_EQ(plan_from_json(plan_to_json(Plan{}), "text"), Plan{});
}

TEST(Plan, ReadingRefusesWhatItDoesNotKnow) {
  for (const char* text :
       {"", "[]", "{\"version\":1}", "{\"version\":2,\"waves\":[]}",
        "{\"version\":1,\"waves\":[],\"more\":0}", "{\"version\":1,\"waves\":[{\"slots\":[]}]}",
        "{\"version\":1,\"waves\":[{\"slots\":[[[0,1]]],\"rings\":[]}]}",
        "{\"version\":1,\"waves\":[{\"slots\":[[[0,1,2.5]]],\"rings\":[]}]}",
        "{\"version\":1,\"waves\":[{\"slots\":[],\"rings\":[{\"sample\":0,\"exchange\":\"tree\"}]}]}"})
    EXPECT_THROW(plan_from_json(text, "text"), Error) << text;
}

TEST(Plan, MembersFollowTheirFirstRange) {
  const Plan plan = small_plan();
  EXPECT_EQ(ring_members(plan.waves[0], 0), (std::vector<int>{2, 0}));
  EXPECT_EQ(ring_members(plan.waves[0], 1), (std::vector<int>{0}));
  const std::vector<RingView> rings = split_samples(plan.waves[0]);
  ASSERT_EQ(rings.size(), 1u);
  EXPECT_EQ(rings[0].members, (std::vector<int>{2, 0}));
  EXPECT_EQ(rings[0].tokens, (std::vector<int64_t>{6, 3}));
  EXPECT_EQ(max_tokens_per_slot(plan), 6);
  EXPECT_EQ(max_segments_per_slot(plan), 2);
}

TEST(Plan, ValidationFindsEachFault) {
  EXPECT_NO_THROW(validate_plan(small_plan(), kLengths, 3));
  const auto broken = [](auto change) {
    Plan plan = small_plan();
    change(plan);
    EXPECT_THROW(validate_plan(plan, kLengths, 3), Error) << plan_to_json(plan);
  };
  broken([](Plan& plan) { plan.waves[0].slots.pop_back(); });
  broken([](Plan& plan) { plan.waves[0].slots[0][0].begin = 5; });          // a token missing
  broken([](Plan& plan) { plan.waves[0].slots[0][0].begin = 3; });          // a token twice
  broken([](Plan& plan) { plan.waves[1].slots[1][0].end = 6; });            // beyond the end
  broken([](Plan& plan) { plan.waves[1].slots[1].clear(); });               // sample missing
  broken([](Plan& plan) { plan.waves[1].slots[0].push_back({1, 0, 2}); });  // sample twice
  broken([](Plan& plan) { plan.waves[1].slots[0].push_back({3, 0, 2}); });  // unknown sample
  broken([](Plan& plan) { plan.waves[1].slots[1][0] = {2, 5, 5}; });        // empty range
  broken([](Plan& plan) { plan.waves[0].rings.clear(); });
  broken([](Plan& plan) { plan.waves[0].rings[0].sample = 1; });
  broken([](Plan& plan) { plan.waves[1].rings.push_back({2, Exchange::kRing}); });
  broken([](Plan& plan) {
    plan.waves[0].slots[0].pop_back();
    plan.waves[1].slots[0] = {{1, 0, 1}, {1, 1, 2}};
    std::swap(plan.waves[1].slots[1][0].sample, plan.waves[1].slots[0][0].sample);
  });
}

TEST(Plan, HashTellsPlansApart) {
  const Plan plan = small_plan();
  EXPECT_EQ(hash_of(plan), hash_of(small_plan()));
  Plan other = small_plan();
  std::swap(other.waves[0].slots[0], other.waves[0].slots[1]);
  EXPECT_NE(hash_of(plan), hash_of(other));
  EXPECT_NE(hash_of(plan), hash_of(Plan{}));
}

}  // namespace
}  // namespace zoetrope
