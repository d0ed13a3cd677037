// Gradient reduction: the same sums in whatever buckets and whether they overlap a backward or not.
#include "parallel/grad_sync.h"

#include <gtest/gtest.h>

#include <optional>
#include "parallel/step.h"

#include "tests/support/ranks.h"
#include "tests/support/rendezvous.h"

namespace zoetrope {
namespace {

using test::rank_counts;
using test::run_ranks;

struct Model {
  ThreadPool pool{1};
  Arena arena{int64_t(1) << 20, Device::kCpu, "test"};
  std::unique_ptr<Ops> ops = make_ops(Device::kCpu, pool, arena);
  ModelConfig config;
  std::optional<Parameters> parameters;
  Model() {
    config.width = 16;
    config.num_layers = 3;
    config.num_heads = 1;
    config.ffn = 32;
    config.text_width = 8;
    config.frequency_width = 8;
    config.patch = {1, 2, 2};
    parameters.emplace(config, Precision{}, *ops);
  }
};

float value_of(int rank, int64_t i) { return float(i % 1009 + 1) / float(3 * rank + 7); }

/// Backward of the last wave on this rank: units finish from the last one to the first.
void finish_units(const Parameters& parameters, GradientSync& sync) {
  for (auto unit = parameters.units().rbegin(); unit != parameters.units().rend(); ++unit)
    sync.unit_done(unit->unit);
}

void check_sums(const Tensor& grads, int ranks) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < grads.rows(); ++i) {
    float expected = value_of(0, i);
    for (int r = 1; r < ranks; ++r) expected += value_of(r, i);
    wrong += grads.data<float>()[i] != expected;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(GradientSync, SumsOnceWhateverOverlaps) {
  for (const int ranks : rank_counts({1, 2, 3, 4}))
    for (const int64_t bucket_bytes : {int64_t(0), int64_t(5000), GradientSync::kBucketBytes})
      run_ranks(ranks, [&](Comm& comm) {
        Model model;
        GradientSync sync(comm, *model.parameters, bucket_bytes);
        const Tensor& grads = model.parameters->grads();
        for (int step = 0; step < 2; ++step) {  // a second step starts as clean as the first
          for (int64_t i = 0; i < grads.rows(); ++i) grads.data<float>()[i] = value_of(comm.rank(), i);
          const bool has_tokens = comm.rank() != 1;   // rank 1 holds no token at all
          const bool overlap = comm.rank() % 2 == 0;  // the others have a ring in their last wave
          if (has_tokens) {
            sync.begin_wave(false, false);
            finish_units(*model.parameters, sync);
            EXPECT_EQ(sync.overlapped_buckets(), 0);
            sync.begin_wave(true, overlap);
            finish_units(*model.parameters, sync);
            EXPECT_EQ(sync.overlapped_buckets() > 0, overlap);
          }
          sync.finish();
          check_sums(grads, ranks);
        }
      });
}

TEST(GradientSync, BucketsCoverAllGradientsLastUnitFirst) {
  run_local_ranks(1, [](Comm& comm) {
    Model model;
    EXPECT_EQ(GradientSync(comm, *model.parameters, 0).num_buckets(),
              int64_t(model.parameters->units().size()));
    EXPECT_EQ(GradientSync(comm, *model.parameters, int64_t(1) << 40).num_buckets(), 1);
  });
}

TEST(GradientSync, OverlapNeedsNoBuffering) {
  for (const int ranks : {2, 3, 4})
    run_local_ranks(ranks, [&](Comm& threads) {
      test::RendezvousComm comm(threads);
      Model model;
      GradientSync sync(comm, *model.parameters, 0);
      const Tensor& grads = model.parameters->grads();
      for (int64_t i = 0; i < grads.rows(); ++i) grads.data<float>()[i] = value_of(comm.rank(), i);
      sync.begin_wave(true, comm.rank() == 0);
      finish_units(*model.parameters, sync);
      sync.finish();
      check_sums(grads, ranks);
    });
}

TEST(CheckSamePlan, NamesTheRanksThatDiffer) {
  for (const int ranks : {2, 4})
    run_local_ranks(ranks, [&](Comm& comm) {
      check_same_plan(comm, 17, 3);
      try {
        check_same_plan(comm, comm.rank() == 1 ? 18 : 17, 4);
        ADD_FAILURE() << "different plans were accepted";
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("step 5: the plans of ranks 1 ("), std::string::npos)
            << error.what();
      }
    });
}

}  // namespace
}  // namespace zoetrope
