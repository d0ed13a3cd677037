#include "parallel/grad_sync.h"

#include <algorithm>
#include <chrono>

namespace zoetrope {

GradientSync::GradientSync(Comm& comm, const Parameters& parameters, int64_t bucket_bytes)
    : comm_(comm), parameters_(parameters) {
  const int64_t width = int64_t(size_of(parameters.grads().dtype()));
  const std::vector<UnitRange>& units = parameters.units();
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    const bool joins = !buckets_.empty() && (buckets_.back().end - unit->begin) * width <= bucket_bytes;
    if (!joins) buckets_.push_back({unit->end, unit->end, {}, 0});
    Bucket& bucket = buckets_.back();
    ZT_CHECK(bucket.begin == unit->end, "units of parameters are not neighbours: ", unit->end, " and ",
             bucket.begin);
    bucket.begin = unit->begin;
    bucket.units.push_back(unit->unit);
  }
}

void GradientSync::begin_wave(bool last_wave, bool overlap) {
  ZT_CHECK(next_ == 0 && in_flight_.empty(), "a wave begins after buckets of the step were reduced");
  overlap_ = last_wave && overlap;
  overlapped_ = 0;
  for (Bucket& bucket : buckets_) bucket.open = bucket.units.size();
}

void GradientSync::unit_done(Unit unit) {
  if (!overlap_) return;
  for (Bucket& bucket : buckets_)
    // Empty waves after the rank's last one report units again: they change nothing.
    bucket.open -= std::min(bucket.open, size_t(std::ranges::count_if(bucket.units, [unit](const Unit& u) {
                              return u.kind == unit.kind && (u.kind != Unit::kBlock || u.block == unit.block);
                            })));
  retire(false);
  while (next_ < buckets_.size() && buckets_[next_].open == 0 &&
         in_flight_.size() < comm_.most_sums_in_flight()) {
    start_next();
    ++overlapped_;
  }
}

void GradientSync::start_next() {
  const Bucket& bucket = buckets_[next_++];
  in_flight_.push_back(comm_.start_all_reduce_sum(parameters_.grads().slice_rows(bucket.begin, bucket.end)));
}

/// Forgets sums that are done, from the oldest on; `all` waits for them.
void GradientSync::retire(bool all) {
  if (all)
    for (const std::unique_ptr<Transfer>& sum : in_flight_) sum->wait();
  std::erase_if(in_flight_, [](const std::unique_ptr<Transfer>& sum) { return sum->test(); });
}

void GradientSync::finish(const Stream& compute) {
  const auto start = std::chrono::steady_clock::now();
  while (next_ < buckets_.size()) {
    retire(in_flight_.size() >= comm_.most_sums_in_flight());
    start_next();
  }
  retire(true);
  compute.synchronize();
  next_ = 0;
  overlap_ = false;
  exposed_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace zoetrope
