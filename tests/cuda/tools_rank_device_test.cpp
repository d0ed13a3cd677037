// The device of a rank and its transport: what the commands start with, on the emulated device.
#include "tools/rank_device.h"

#include <gtest/gtest.h>

#include "model/ops/cuda/register.h"
#include "parallel/device_comm.h"
#include "tests/simt/devices.h"
#include "tools/assemble.h"

namespace zoetrope {
namespace {

TrainConfig config_on_device() {
  TrainConfig config;
  config.numerics.device = "cuda";
  config.model.width = 32;
  config.model.ffn = 64;
  config.model.num_heads = 2;
  config.model.num_layers = 1;
  return config;
}

/// Runs `body` on ranks as threads, each with its device started; `capacity` bytes on each.
void run(int ranks, const TrainConfig& config, const std::function<void(Comm&)>& body,
         int64_t capacity = int64_t(1) << 30) {
  simt::DeviceOptions devices;
  devices.devices = ranks;
  devices.capacity_bytes = capacity;
  simt::reset_devices(devices);
  register_cuda_backend();
  register_nccl();
  run_local_ranks(ranks, [&](Comm& host) {
    const std::unique_ptr<Comm> comm = start_device(config, host);
    body(*comm);
    host.barrier();
  });
}

/// The message that a run ends with; empty when it does not fail.
std::string failure_of(int ranks, const TrainConfig& config, const std::function<void(Comm&)>& body,
                       int64_t capacity = int64_t(1) << 30) {
  try {
    run(ranks, config, body, capacity);
  } catch (const Error& error) { return error.what(); }
  return "";
}

TEST(RankDevice, SeveralRanksReachEachOtherOverNcclAndOneNeedsNone) {
  for (const int ranks : {1, 2, 3})
    run(ranks, config_on_device(), [ranks](Comm& comm) {
      EXPECT_EQ(comm.name(), std::string(ranks == 1 ? "threads" : "nccl"));
      EXPECT_EQ(device_info(Device::kCuda).index, comm.rank());
      EXPECT_EQ(comm.device_bytes(), simt::memory_use(comm.rank()).bytes) << "all that is allocated yet";
      EXPECT_EQ(comm.device_bytes() > 0, ranks > 1);
    });
}

TEST(RankDevice, WhatNcclTookCountsInTheMemoryOfARank) {
  const TrainConfig config = config_on_device();
  const Workload workload{40, 80, 2, config.model.in_features()};
  run(2, config, [&](Comm& comm) {
    const Rank rank(config, comm, 1, workload, memory_limit(config, {}, comm));
    const int64_t state = rank.parameters.persistent_bytes() + rank.optimizer.persistent_bytes();
    EXPECT_EQ(rank.memory.persistent - memory_model_of(config, 1, workload, state).persistent,
              comm.device_bytes());
    EXPECT_GE(rank.peak_bytes(), state + comm.device_bytes());
  });
}

TEST(RankDevice, TooLittleMemoryIsAnErrorWithTheFiguresOfAll) {
  const TrainConfig config = config_on_device();
  const Workload workload{40, 80, 2, config.model.in_features()};
  const auto start = [&](Comm& comm) { Rank(config, comm, 1, workload, 0, Cluster{2, 80, 2}); };
  int64_t taken = 0;
  run(2, config, [&](Comm& comm) {
    if (comm.rank() == 0) taken = comm.device_bytes();
  });
  const std::string text = failure_of(2, config, start, taken + 100000);
  EXPECT_NE(text.find("too little memory on GPU"), std::string::npos) << text;
  EXPECT_NE(text.find(join_message("NCCL has taken ", taken)), std::string::npos) << text;
  EXPECT_EQ(failure_of(2, config, start), "");
}

TEST(RankDevice, TheConfigsTimeoutEndsATransferThatNobodyMeets) {
  TrainConfig config = config_on_device();
  config.parallel.transfer_timeout = 0.1;
  const std::string text = failure_of(2, config, [](Comm& comm) {
    const Tensor mine = Tensor::zeros({8}, DType::kF32, Device::kCuda);
    if (comm.rank() == 0) {
      comm.exchange({{1, mine.raw(), mine.bytes(), 1}}, {})->wait();
      Stream(Device::kCuda).synchronize();
    }
    comm.barrier();
  });
  EXPECT_NE(text.find("the limit is 0.1 s"), std::string::npos) << text;
}

TEST(RankDevice, ABuildWithoutNcclSaysSo) {
  simt::DeviceOptions devices;
  devices.devices = 2;
  simt::reset_devices(devices);
  register_cuda_backend();
  register_device_comm(Device::kCuda, nullptr);
  std::string text;
  try {
    run_local_ranks(2, [](Comm& host) { start_device(config_on_device(), host); });
  } catch (const Error& error) { text = error.what(); }
  EXPECT_NE(text.find("this build has no NCCL"), std::string::npos) << text;
}

}  // namespace
}  // namespace zoetrope
