// Device memory of whole training steps on emulated devices: every byte is one that the memory model counts,
// the arena's as reserved, and what is used of the arena is what the model predicts.
#include <gtest/gtest.h>

#include "model/ops/cuda/register.h"
#include "model/ops/workspace.h"
#include "parallel/device_comm.h"
#include "parallel/step.h"
#include "schedule/planner.h"
#include "tests/simt/devices.h"
#include "tools/assemble.h"
#include "tools/rank_device.h"
#include "tools/synthetic_batch.h"

namespace zoetrope {
namespace {

constexpr double kAllowed = 0.05;  // as on CPUs: what a user may rely on

TrainConfig config_of(const std::string& precision, bool recompute) {
  TrainConfig config;
  config.numerics.device = "cuda";
  config.numerics.precision = precision;
  config.model.width = 64;  // areas of rings are whole multiples of 64 bytes, so nothing is rounded
  config.model.ffn = 128;
  config.model.num_heads = 1;
  config.model.num_layers = 2;
  config.model.text_rows = 8;
  config.model.recompute = recompute;
  return config;
}

/// A step and its update on every rank; `lengths` of its samples, `cap` tokens in a micro-batch.
void check(const TrainConfig& config, int ranks, int64_t cap, const std::vector<int64_t>& lengths) {
  simt::DeviceOptions devices;
  devices.devices = ranks;
  simt::reset_devices(devices);
  register_cuda_backend();
  register_nccl();
  run_local_ranks(ranks, [&](Comm& host) {
    const std::unique_ptr<Comm> comm = start_device(config, host);
    const Workload workload = workload_of(lengths, int64_t(lengths.size()), config.model.in_features());
    Rank rank(config, *comm, 1, workload, 0, Cluster{ranks, cap});
    rank.parameters.initialise(1);
    rank.parameters.prepare();
    const Plan plan = make_plan({}, lengths, CostModel{}, rank.cluster);
    int64_t total = 0;
    for (const int64_t tokens : lengths) total += tokens;
    const StepResult done = run_loss_and_gradients(
        plan, 0, loss_count(total, config.model), *comm, rank.flow, rank.attention, rank.sync,
        rank.parameters,
        [&](int64_t wave) { return make_synthetic_batch(plan, wave, comm->rank(), lengths, config.model); },
        *rank.ops);
    rank.optimizer.step(0, done.grad_norm);
    rank.ops->stream().synchronize();
    const int64_t allocated = simt::memory_use(comm->rank()).peak_bytes;
    const int64_t unused = rank.arena.reserved_bytes() - rank.arena.high_water_bytes();
    EXPECT_EQ(allocated - unused, rank.peak_bytes()) << "rank " << comm->rank();
    EXPECT_LE(allocated, peak_bytes(rank.memory, rank.cluster)) << "rank " << comm->rank();
    const double predicted = double(rank.predicted_peak_bytes(plan));
    EXPECT_LE(std::abs(predicted / double(rank.peak_bytes()) - 1), kAllowed) << "rank " << comm->rank();
    // Activations alone: weights, transport and the products' work space must not hide them.
    const ModelConfig& model = config.model;
    const int64_t others =
        rank.persistent_bytes + ops_workspace_in_use(Device::kCuda, 1, max_tokens_per_slot(plan), model.width,
                                                     model.ffn, model.head_width(), rank.precision.compute);
    EXPECT_LE(std::abs((predicted - double(others)) / double(rank.peak_bytes() - others) - 1), kAllowed)
        << "rank " << comm->rank();
    host.barrier();
  });
}

TEST(CudaPeakMemory, IsTheMemoryModelsFigure) {
  for (const std::string precision : {"f32", "bf16"})
    for (const bool recompute : {false, true})
      for (const int ranks : {1, 2, 4}) {
        SCOPED_TRACE(join_message(precision, recompute ? " recompute, " : ", ", ranks, " ranks"));
        check(config_of(precision, recompute), ranks, ranks == 4 ? 14 : 20, {20, 6, 9, 1});
      }
}

}  // namespace
}  // namespace zoetrope
