// Gradient all-reduce once per step, in buckets in one fixed order on all ranks (last block first).
#pragma once

#include <memory>
#include <vector>

#include "model/parallel_hooks.h"
#include "model/params.h"
#include "parallel/comm.h"

namespace zoetrope {

/// GradientSink that reduces units' gradients over all ranks.
class GradientSync : public GradientSink {
 public:
  /// `bucket_bytes`: small neighbouring units share a bucket of about this size.
  GradientSync(Comm& comm, const Parameters& parameters, int64_t bucket_bytes = kBucketBytes);
  /// `overlap`: this is the rank's last wave and it has no ring, so that buckets may start in its backward
  /// (design: after the rank's last ring transfer of the step).
  void begin_wave(bool last_wave, bool overlap);
  void unit_done(Unit unit) override;
  /// Reduces what is left, in order; afterwards all gradients are global sums. Called on every rank, once
  /// `compute` has ended the backward.
  void finish(const Stream& compute = Stream());
  /// Time of the last `finish`: the part of the reduction that nothing hid.
  double exposed_seconds() const { return exposed_seconds_; }
  int64_t num_buckets() const { return int64_t(buckets_.size()); }
  /// Buckets of this step that started inside the backward of its last wave.
  int64_t overlapped_buckets() const { return overlapped_; }

  static constexpr int64_t kBucketBytes = int64_t(1) << 22;  // 4 MiB: latency is small beside the transfer

 private:
  /// Neighbouring units, a contiguous range [begin, end) of the flat gradients.
  struct Bucket {
    int64_t begin = 0, end = 0;
    std::vector<Unit> units;
    size_t open = 0;  ///< units of the last wave that are not final yet
  };
  /// Starts the next bucket; forgets sums that are done.
  void start_next();
  void retire(bool all);

  Comm& comm_;
  const Parameters& parameters_;
  std::vector<Bucket> buckets_;  ///< in reduction order
  size_t next_ = 0;              ///< first bucket that is not started
  std::vector<std::unique_ptr<Transfer>> in_flight_;
  bool overlap_ = false;
  int64_t overlapped_ = 0;
  double exposed_seconds_ = 0;
};

}  // namespace zoetrope
