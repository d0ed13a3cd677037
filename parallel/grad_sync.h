// Gradient all-reduce once per step, in buckets in one fixed order on all ranks (last block first).
#pragma once

#include "model/parallel_hooks.h"
#include "model/params.h"
#include "parallel/comm.h"

namespace zoetrope {

/// GradientSink that reduces units' gradients over all ranks.
class GradientSync : public GradientSink {
 public:
  GradientSync(Comm& comm, const Parameters& parameters);
  /// `overlap`: this is the rank's last wave and it has no ring, so that buckets may start in its backward
  /// (design: after the rank's last ring transfer of the step).
  void begin_wave(bool last_wave, bool overlap);
  void unit_done(Unit unit) override;
  /// Reduces what is left, in order; afterwards all gradients are global sums. Called on every rank.
  void finish();
  double exposed_seconds() const { return exposed_seconds_; }

 private:
  Comm& comm_;
  const Parameters& parameters_;
  size_t next_unit_ = 0;
  bool overlap_ = false;
  double exposed_seconds_ = 0;
};

}  // namespace zoetrope
