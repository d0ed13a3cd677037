#include "tests/support/plan_check.h"

#include "core/check.h"
#include "schedule/issue_order.h"

namespace zoetrope {

void check_plan(const Plan& plan, const std::vector<int64_t>& lengths, const Cluster& cluster,
                CircleSearch search) {
  validate_plan(plan, lengths, lengths.empty() ? plan.num_slots() : cluster.num_slots);
  ZT_CHECK(max_tokens_per_slot(plan) <= cluster.tokens_per_slot, max_tokens_per_slot(plan), " tokens, cap ",
           cluster.tokens_per_slot);
  ZT_CHECK(cluster.segments_per_slot == 0 || max_segments_per_slot(plan) <= cluster.segments_per_slot,
           max_segments_per_slot(plan), " segments, cap ", cluster.segments_per_slot);
  if (cluster.num_slots > search.most_slots) return;
  std::vector<std::vector<IssuedTransfer>> sequences;
  for (int slot = 0; slot < int(plan.num_slots()); ++slot)
    sequences.push_back(issue_order(plan, slot, search.num_blocks));
  const std::string circle = run_blocking(sequences);
  ZT_CHECK(circle.empty(), circle);
}

}  // namespace zoetrope
