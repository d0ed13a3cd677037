// Whole commands on the emulated device: `train` from its command line to metrics, checkpoints and resume,
// and `sample` from what it saved, on one rank and on two with NCCL between them.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/files.h"
#include "model/checkpoint.h"
#include "model/ops/cuda/register.h"
#include "parallel/device_comm.h"
#include "schedule/cost.h"
#include "schedule/kernel_choices.h"
#include "tests/cuda/cudnn_stand_in.h"
#include "tests/simt/devices.h"
#include "tests/support/close.h"
#include "tests/support/training.h"
#include "tools/commands.h"
#include "video/media/decode.h"

namespace zoetrope {
namespace {

using namespace testing_support;

/// Ranks as threads: processes would each have devices of their own.
int run_on_threads(int64_t ranks, const std::function<int(Comm&)>& body, bool) {
  int worst = 0;
  run_local_ranks(int(std::max<int64_t>(1, ranks)), [&](Comm& comm) {
    const int code = int(comm.all_reduce_max(body(comm)));
    if (comm.rank() == 0) worst = code;
  });
  return worst;
}

/// The program's command line, in this process. Returns: its exit code.
int run(std::vector<std::string> words) {
  std::vector<Command> commands{train_command(run_on_threads), sample_command(run_on_threads)};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return run_command_line(int(argv.size()), argv.data(), commands, "", "");
}

/// Fresh devices, whose streams and threads run in the order of `seed`. Returns: what the last ones held.
std::string reset_devices(int devices, uint64_t seed) {
  simt::DeviceOptions options;
  options.devices = devices;
  options.seed = seed;
  const std::string left = simt::reset_devices(options);
  register_cuda_backend();
  register_nccl();
  return left;
}

Clip read_back(const std::string& picture) {
  DecodeRules rules;
  rules.fps = 8;
  rules.size = {{1, 1, 1}, 1 << 24, false};
  return decode_file(picture, rules).at(0).clip;
}

class CudaCommands : public testing::Test {
 protected:
  static SmallDatasetOptions few_clips() {
    SmallDatasetOptions options;
    options.sizes = {{1, 16, 16}, {9, 8, 16}, {5, 16, 8}, {13, 8, 8}};
    return options;
  }
  std::string folder(const std::string& name) const { return folder_.path() + "/" + name; }
  int train(const std::string& name, const std::string& device, int ranks, int steps,
            const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"zoetrope",
                                   "train",
                                   "--config",
                                   ZT_SOURCE_DIR "/configs/tiny.toml",
                                   "--data",
                                   data_.folder(),
                                   "--run",
                                   folder(name),
                                   "--device",
                                   device,
                                   "--ranks",
                                   std::to_string(ranks),
                                   "--steps",
                                   std::to_string(steps),
                                   "--threads-per-rank",
                                   "1",
                                   "--num-layers",
                                   "1",
                                   "--ema-decay",
                                   "0.9"};
    if (ranks > 1)
      words.insert(words.end(), {"--planner", "static", "--cp", std::to_string(ranks)});  // rings
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  std::vector<double> losses(const std::string& name) const { return metric_column(folder(name), "loss"); }

  SmallDataset data_{few_clips()};
  TemporaryFolder folder_;
};

// Four times what the order of sums alone changes on CPUs: ranks cut them in other places.
TEST_F(CudaCommands, TrainingGivesTheLossesOfTheCpuAndResumesBitForBit) {
  constexpr int kSteps = 3;
  std::vector<std::vector<double>> cpu;
  for (const int ranks : {1, 2, 3}) {
    ASSERT_EQ(train("cpu" + std::to_string(ranks), "cpu", ranks, kSteps), 0);
    cpu.push_back(losses("cpu" + std::to_string(ranks)));
  }
  for (const int ranks : {1, 2}) {
    SCOPED_TRACE(join_message(ranks, " ranks"));
    const std::string whole = "whole" + std::to_string(ranks), parts = "parts" + std::to_string(ranks);
    reset_devices(ranks, uint64_t(ranks));
    ASSERT_EQ(train(whole, "cuda", ranks, kSteps), 0);
    const std::vector<double> found = losses(whole);
    ASSERT_EQ(found.size(), size_t(kSteps));
    for (size_t step = 0; step < found.size(); ++step) {
      double spread = 16 * test::kUnitF32 * cpu[0][step];
      for (const auto& other : cpu) spread = std::max(spread, std::abs(other[step] - cpu[0][step]));
      EXPECT_NEAR(found[step], cpu[0][step], 4 * spread) << "step " << step;
    }
    EXPECT_EQ(reset_devices(ranks, 7), "") << "left on the devices";
    ASSERT_EQ(train(parts, "cuda", ranks, kSteps - 1), 0);
    ASSERT_EQ(train(parts, "cuda", ranks, kSteps, {"--resume", "auto"}), 0);
    EXPECT_EQ(losses(parts), found);
    const std::string last = "/checkpoints/step-000003";
    EXPECT_EQ(checkpoint_tensors(folder(whole) + last).size(), 3u) << "model, optimizer, ema";
    EXPECT_TRUE(checkpoint_tensors(folder(whole) + last) == checkpoint_tensors(folder(parts) + last));
  }
}

TEST_F(CudaCommands, TheAttentionKernelIsAnInputThatTheCheckpointKeeps) {
  const std::string hardware = folder("hardware.toml");
  write_cost(hardware, {});
  write_file_atomically(hardware, read_file(hardware) + "\n" + to_toml(KernelChoices{"cudnn"}));
  const auto train_on = [&](const std::string& name, int ranks, int steps, std::vector<std::string> more) {
    reset_devices(ranks, 5);
    test::cudnn_stand_in() = {};
    more.insert(more.end(), {"--precision", "bf16", "--width", "128"});
    return train(name, "cuda", ranks, steps, more);
  };
  const auto runs = [] {
    return std::pair(test::cudnn_stand_in().forward_runs > 0, test::cudnn_stand_in().backward_runs > 0);
  };
  ASSERT_EQ(train_on("run", 2, 1, {"--cost", hardware}), 0);
  EXPECT_EQ(runs(), std::pair(true, true));
  EXPECT_NE(read_file(folder("run/config.toml")).find("attention-kernel = \"cudnn\""), std::string::npos);
  ASSERT_EQ(train_on("run", 2, 2, {"--resume", "auto"}), 0);
  EXPECT_EQ(runs(), std::pair(true, true)) << "the checkpoint's kernel";
  EXPECT_EQ(train_on("run", 2, 3, {"--resume", "auto", "--attention-kernel", "own"}), 2);
  EXPECT_EQ(train_on("run", 2, 3, {"--resume", "auto", "--allow-nondeterministic"}), 2);
  ASSERT_EQ(train_on("own", 1, 1, {"--cost", hardware, "--attention-kernel", "own"}), 0);
  EXPECT_EQ(runs(), std::pair(false, false)) << "the flag is stronger than the file";

  testing::internal::CaptureStderr();
  ASSERT_EQ(train_on("any", 1, 1, {"--attention-kernel", "cudnn", "--allow-nondeterministic"}), 0);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("results may differ from run to run"),
            std::string::npos);
  const std::string state = read_checkpoint_state(folder("any/checkpoints/step-000001")).state_json;
  EXPECT_NE(state.find("cuda/bf16/attention-cudnn/nondeterministic"), std::string::npos) << state;
}

TEST_F(CudaCommands, SamplesAreThoseOfTheCpu) {
  ASSERT_EQ(train("run", "cpu", 1, 2), 0);
  const auto sample = [&](const std::string& device, const std::string& ranks) {
    const std::string out = folder(device + ranks);
    EXPECT_EQ(run({"zoetrope", "sample", "--run", folder("run"), "--out", out + ".mp4", "--prompt",
                   "clip number 1", "--frames", "5", "--size", "16x16", "--sampling-steps", "2", "--device",
                   device, "--ranks", ranks}),
              0);
    return read_back(out + ".png");
  };
  const Clip expected = sample("cpu", "1");
  for (const std::string ranks : {"1", "2"}) {
    reset_devices(2, 3);
    const Clip found = sample("cuda", ranks);
    ASSERT_EQ(found.pixels.size(), expected.pixels.size());
    int most = 0;
    for (size_t i = 0; i < found.pixels.size(); ++i)
      most = std::max(most, std::abs(int(found.pixels[i]) - int(expected.pixels[i])));
    EXPECT_LE(most, 1) << ranks << " ranks: pixels are rounded to 256 levels";
  }
}

}  // namespace
}  // namespace zoetrope
