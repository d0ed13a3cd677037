#include "video/media/damage_runs.h"

#include <algorithm>

namespace zoetrope {

void DamageRuns::note_bad(int64_t order, int64_t tick) {
  bad_orders_.insert(order);
  bad_order_ = std::min(bad_order_, order);
  last_bad_order_ = std::max(last_bad_order_, order);
  if (tick != AV_NOPTS_VALUE) bad_tick_ = std::min(bad_tick_, tick);
}

bool DamageRuns::ends_before(FrameTime time, bool damaged) const {
  return in_run_ && (damaged || time.order > bad_order_ || time.tick >= bad_tick_);
}

bool DamageRuns::can_start(FrameTime time, bool damaged, bool first, bool key) const {
  if (damaged) return false;
  return (first && bad_orders_.empty()) || (key && time.order > last_bad_order_);
}

void DamageRuns::start_run() {
  in_run_ = true;
  bad_order_ = bad_tick_ = kNever;
}

}  // namespace zoetrope
