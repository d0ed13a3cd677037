// Gradient sums behind the backward on devices: in a ring-free last wave every bucket is issued as soon as
// its units are final and may run before the backward ends, else after the rank's last ring transfer;
// gradients are the same bits in every order of streams, and those of one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "parallel/selftest_model.h"
#include "tests/cuda/nccl_ranks.h"

namespace zoetrope {
namespace {

constexpr int kRanks = 4;

/// Looks, when the fourth bucket is issued, whether the first one ends before what the device was given to
/// compute until then.
class WatchingComm : public ForwardingComm {
 public:
  using ForwardingComm::ForwardingComm;
  std::unique_ptr<Transfer> start_all_reduce_sum(const Tensor& values) override {
    auto sum = inner_.start_all_reduce_sum(values);
    if (issued_++ == 0) {
      first_ = std::move(sum);
      return std::make_unique<Shared>(*first_);
    }
    if (issued_ == kLook) look();
    return sum;
  }
  bool first_ended_early() const { return early_; }

 private:
  class Shared : public Transfer {
   public:
    explicit Shared(Transfer& of) : of_(of) {}
    bool test() override { return of_.test(); }
    void wait() override { of_.wait(); }

   private:
    Transfer& of_;
  };
  void look() {
    Event computed;
    computed.record(Stream(Device::kCuda));
    while (!first_->test()) {}
    early_ = !computed.complete();
  }

  static constexpr int kLook = 4;
  int issued_ = 0;
  bool early_ = false;
  std::unique_ptr<Transfer> first_;
};

/// A sample over all ranks, then one on each; with `ring_at_end` ranks 2 and 3 share theirs.
SelftestCase two_waves(bool ring_at_end) {
  SelftestCase test{
      "", {{{2, 3, 5}, "a train"}, {{2, 3, 3}, "a ball"}, {{3, 1, 3}, ""}, {{7, 1, 1}, "a cup"}}, {}};
  if (!ring_at_end) test.samples.push_back({{2, 2, 2}, "waves"});
  test.plan.waves.resize(2);
  for (Wave& wave : test.plan.waves) wave.slots.resize(kRanks);
  const int64_t cuts[] = {0, 6, 13, 14, 30};
  for (size_t r = 0; r < kRanks; ++r) {
    test.plan.waves[0].slots[r] = {{0, cuts[r], cuts[r + 1]}};
    const int64_t sample = int64_t(r) + 1;
    if (r < 2 || !ring_at_end)
      test.plan.waves[1].slots[r] = {{sample, 0, test.samples[size_t(sample)].tokens()}};
    else test.plan.waves[1].slots[r] = {{3, r == 2 ? 0 : 4, r == 2 ? 4 : 7}};
  }
  list_rings(test.plan);
  validate_plan(test.plan, test.lengths(), kRanks);
  return test;
}

/// What a step of the case gave on rank 0, and what each rank did meanwhile.
struct Seen {
  StepOutcome outcome, alone;
  int64_t buckets = 0;
  std::vector<int64_t> overlapped = std::vector<int64_t>(kRanks);
  int ended_early = 0;  ///< ranks on which the first sum ended before the backward
};

Seen run_step(const SelftestCase& test, uint64_t seed, bool watch) {
  Seen seen;
  NcclOptions nccl;
  nccl.sum_bytes = 1 << 14;
  test::run_nccl_ranks({.count = kRanks, .order = seed}, nccl, [&](NcclComm& comm) {
    SelftestOptions options;
    options.device = Device::kCuda;
    WatchingComm watching(comm);
    SelftestModel model(options, watch ? static_cast<Comm&>(watching) : comm, 80, 5);
    const StepOutcome outcome = model.run_plan(test);
    seen.overlapped[size_t(comm.rank())] = model.sync().overlapped_buckets();
    const double early = comm.all_reduce_max(watching.first_ended_early() ? 1 : 0);
    if (comm.rank() == 0) {
      seen.outcome = outcome;
      seen.buckets = model.sync().num_buckets();
      seen.ended_early = int(early);
      if (seed == 0) seen.alone = model.run_alone(test, Summation::kPlain);
    }
  });
  return seen;
}

void expect_gradients(const StepOutcome& found, const StepOutcome& alone) {
  double largest = 0, deviation = 0;
  for (size_t i = 0; i < alone.gradients.size(); ++i) {
    largest = std::max(largest, std::abs(alone.gradients[i]));
    deviation = std::max(deviation, std::abs(found.gradients[i] - alone.gradients[i]));
  }
  EXPECT_LE(deviation, 4 * 16 * std::ldexp(1.0, -24) * largest);
}

TEST(CudaGradientOverlap, BucketsAreIssuedInARingFreeLastWaveAndChangeNoBit) {
  ZT_NEEDS_DEVICES(kRanks);
  for (const bool ring_at_end : {false, true}) {
    SCOPED_TRACE(ring_at_end ? "a ring in the last wave of ranks 2 and 3" : "no ring in the last wave");
    const SelftestCase test = two_waves(ring_at_end);
    const Seen first = run_step(test, 0, false);
    ASSERT_GT(first.buckets, 3);
    expect_gradients(first.outcome, first.alone);
    for (const uint64_t seed : {1, 2}) {
      const Seen seen = run_step(test, seed, false);
      EXPECT_EQ(seen.outcome.gradients, first.outcome.gradients) << "seed " << seed;
      for (size_t r = 0; r < kRanks; ++r)
        EXPECT_EQ(seen.overlapped[r], ring_at_end && r >= 2 ? 0 : seen.buckets) << "rank " << r;
    }
  }
}

TEST(CudaGradientOverlap, TheFirstSumNeedNotWaitForTheBackward) {
  ZT_NEEDS_EMULATION("which of two streams is ahead is a matter of speed");
  const SelftestCase test = two_waves(false);
  int early = 0;
  for (uint64_t seed = 1; seed <= 4 && early == 0; ++seed) early = run_step(test, seed, true).ended_early;
  EXPECT_GT(early, 0) << "in none of four orders of streams";
}

}  // namespace
}  // namespace zoetrope
