// cuDNN's attention plans, compiled for GPUs that aren't there: engine, work space, reproducibility and
// kernels. Nothing is run: results and speed need a GPU. On a machine with one, only its own plans can be
// built.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "model/ops/cuda/cudnn_cubin.h"
#include "model/ops/cuda/cudnn_plan_cache.h"

namespace zoetrope::cudnn {
namespace {

/// A GPU model. Sizes from NVIDIA's tables; what plans depend on is the version and the shared memory.
struct Gpu {
  const char* name;
  int64_t version, multiprocessors, shared_bytes, blocks, threads;
};
constexpr Gpu kA100 = {"A100", 800, 108, 166912, 32, 2048};
constexpr Gpu kH100 = {"H100", 900, 132, 232448, 32, 2048};
constexpr Gpu kB200 = {"B200", 1000, 148, 232448, 32, 2048};
constexpr Gpu kL40S = {"L40S", 890, 142, 101376, 24, 1536};

DeviceProperties properties_of(const Gpu& gpu) {
  const nlohmann::json json = {{"maxGridSize", {2147483647, 65535, 65535}},
                               {"maxBlockSize", {1024, 1024, 64}},
                               {"regsPerBlock", 65536},
                               {"multiProcessorCount", gpu.multiprocessors},
                               {"warpSize", 32},
                               {"maxSharedMemoryPerBlock", 49152},
                               {"maxSharedMemoryPerBlockOptin", gpu.shared_bytes},
                               {"reservedSharedMemoryPerBlock", 1024},
                               {"maxRegistersPerSM", 65536},
                               {"maxCtasPerSM", gpu.blocks},
                               {"maxThreadsPerBlock", 1024},
                               {"maxThreadsPerSM", gpu.threads},
                               {"deviceVer", gpu.version},
                               {"driverVer", 13000},
                               {"smClockRateKHz", 1980000},
                               {"memClockRateKHz", 2619000},
                               {"l2CacheSize", 52428800},
                               {"pciDeviceId", 0},
                               {"isTccDriver", 0},
                               {"supportCoopLaunch", 1},
                               {"totalGlobalMem", 85045084160},
                               {"cudaDeviceId", 0},
                               {"deviceName", gpu.name}};
  return {json.dump()};
}

constexpr int64_t kRows = 512, kBatch = 2, kHeads = 16;

/// Samples whose q, k and v lie in one packed tensor, side by side.
AttentionShape shape_of(const Gpu& gpu, int64_t head_width) {
  const int64_t width = kHeads * head_width;
  return {.batch = kBatch,
          .num_heads = kHeads,
          .head_width = head_width,
          .q_rows = kRows,
          .kv_rows = kRows,
          .q_stride = 3 * width,
          .k_stride = 3 * width,
          .v_stride = 3 * width,
          .out_stride = width,
          .dout_stride = width,
          .lse = lse_layout(properties_of(gpu))};
}

/// What a plan must be. Engine numbers as of cuDNN 9.19.
struct Case {
  Gpu gpu;
  int64_t head_width;
  Pass pass;
  Bits bits;
  int64_t engine;
  const char* kernel;  ///< part of each kernel's name
  int64_t workspace_bytes;
};

std::string text_of_case(const Case& c) {
  return join_message(c.gpu.name, "Width", c.head_width, c.pass == Pass::kForward ? "Forward" : "Backward",
                      c.bits == Bits::kAny ? "AnyBits" : "Reproducible");
}
void PrintTo(const Case& c, std::ostream* out) { *out << text_of_case(c); }

/// Work space of Hopper and later for packed samples: some cache lines per sample.
constexpr int64_t kTables = 2 << 10;
/// ds of all samples and heads, bf16.
constexpr int64_t kAllOfDs = kBatch * kHeads * kRows * kRows * 2;
/// dq of all samples and heads, f32, per column of a head.
constexpr int64_t kDqColumn = kBatch * kHeads * kRows * 4;
/// Two kernels with a table each.
constexpr int64_t kTwoTables = 2 * kTables;

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const Gpu& gpu, Pass pass, Bits bits, int64_t engine, const char* kernel,
                       int64_t workspace_bytes, int64_t per_column = 0) {
    for (const int64_t head_width : {64, 128})
      all.push_back({gpu, head_width, pass, bits, engine, kernel, workspace_bytes + per_column * head_width});
  };
  add(kA100, Pass::kForward, Bits::kReproducible, 8, "sm80_flash_fprop", 0);
  add(kH100, Pass::kForward, Bits::kReproducible, 9, "sm90_flash_fprop", kTables);
  add(kB200, Pass::kForward, Bits::kReproducible, 10, "sm100_flash_fprop", kTables);
  add(kL40S, Pass::kForward, Bits::kReproducible, 8, "sm80_flash_fprop", 0);
  add(kH100, Pass::kBackward, Bits::kReproducible, 6, "sm90_flash_bprop", kAllOfDs + kTables);
  add(kB200, Pass::kBackward, Bits::kReproducible, 5, "sm100_flash_bprop", kTwoTables);
  add(kA100, Pass::kBackward, Bits::kAny, 7, "sm80_flash_bprop", kTables, kDqColumn);
  add(kH100, Pass::kBackward, Bits::kAny, 6, "sm90_flash_bprop", kTables);
  add(kB200, Pass::kBackward, Bits::kAny, 5, "sm100_flash_bprop", kTables);
  add(kL40S, Pass::kBackward, Bits::kAny, 7, "sm80_flash_bprop", kTables, kDqColumn);
  return all;
}

/// Loads the driver's library, or where there is none the one of a machine without a GPU.
void load_driver() {
  const auto load = [](const char* path) { return dlopen(path, RTLD_NOW | RTLD_GLOBAL) != nullptr; };
  static const bool loaded = load("libcuda.so.1") || load(ZT_NO_DEVICE_LIBCUDA);
  ASSERT_TRUE(loaded) << ZT_NO_DEVICE_LIBCUDA << " can't be loaded: " << dlerror();
}

/// Why plans for a GPU can't be built here, or nothing.
std::string reason_to_skip(const Gpu& gpu) {
  using CountDevices = int (*)(int*);
  int count = 0;
  const auto count_devices = reinterpret_cast<CountDevices>(dlsym(RTLD_DEFAULT, "cuDeviceGetCount"));
  if (!count_devices || count_devices(&count) != 0 || count == 0) return "";
  const int64_t here = device_properties(0).version();
  if (here == gpu.version) return "";
  return join_message("a GPU of version ", here, " is here, which can't load plans for version ",
                      gpu.version);
}

class CudnnPlan : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    load_driver();
    if (const std::string reason = reason_to_skip(GetParam().gpu); !reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_P(CudnnPlan, IsBuiltWithoutItsGpu) {
  const Case& c = GetParam();
  const DeviceProperties device = properties_of(c.gpu);
  const auto plan = AttentionPlan::build(c.pass, shape_of(c.gpu, c.head_width), device, c.bits);
  EXPECT_EQ(plan->engine(), c.engine);
  EXPECT_LE(plan->workspace_bytes(), c.workspace_bytes);
  const std::string json = plan->json();
  int64_t float_reductions = 0;
  for (const PlanKernel& kernel : kernels_of(json)) {
    EXPECT_NE(kernel.name.find(c.kernel), std::string::npos) << kernel.name;
    EXPECT_EQ(kernel.architecture, c.gpu.version / 10);
    float_reductions += kernel.float_reductions;
  }
  // The fast backward kernels add into dq from all blocks: they show that the count can be more than 0.
  EXPECT_EQ(float_reductions > 0, c.pass == Pass::kBackward && c.bits == Bits::kAny) << float_reductions;

  const auto again = AttentionPlan::load(json, device);
  EXPECT_EQ(again->engine(), c.engine);
  EXPECT_EQ(again->workspace_bytes(), plan->workspace_bytes());
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) { return text_of_case(info.param); }
INSTANTIATE_TEST_SUITE_P(Gpus, CudnnPlan, testing::ValuesIn(cases()), name_of_case);

/// What an attempt to build a plan throws.
std::string refusal(Pass pass, const AttentionShape& shape, const Gpu& gpu, Bits bits) {
  try {
    AttentionPlan::build(pass, shape, properties_of(gpu), bits);
  } catch (const Error& e) { return e.what(); }
  return "built";
}

TEST(CudnnPlanRefusals, SayWhatToDo) {
  load_driver();
  for (const Gpu& gpu : {kA100, kL40S})
    for (const int64_t head_width : {64, 128}) {
      const std::string text = refusal(Pass::kBackward, shape_of(gpu, head_width), gpu, Bits::kReproducible);
      EXPECT_NE(text.find("none with reproducible bits; use the attention kernel 'own'"), std::string::npos)
          << text;
    }
  AttentionShape packed = shape_of(kA100, 128);
  packed.lse = LseLayout::kPacked;
  EXPECT_NE(refusal(Pass::kBackward, packed, kA100, Bits::kAny).find("must be padded"), std::string::npos);
  try {
    AttentionPlan::build(Pass::kBackward, shape_of(kH100, 128), properties_of(kH100), Bits::kReproducible,
                         kAllOfDs - 1);
    ADD_FAILURE() << "built";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("bytes of work space"), std::string::npos) << e.what();
  }
  AttentionShape wide = shape_of(kH100, 128);
  wide.head_width = 96;
  EXPECT_NE(refusal(Pass::kForward, wide, kH100, Bits::kAny).find("64 or 128 wide"), std::string::npos);
  AttentionShape narrow = shape_of(kH100, 128);
  narrow.k_stride = 128;
  EXPECT_NE(refusal(Pass::kForward, narrow, kH100, Bits::kAny).find("rows 128 elements apart"),
            std::string::npos);
  EXPECT_NE(refusal(Pass::kForward, shape_of(kH100, 128), {"old", 750, 68, 65536, 16, 1024}, Bits::kAny)
                .find("proposes 0 engines"),
            std::string::npos);
}

TEST(CudnnPlanCache, SharesPlansAmongSimilarShapes) {
  load_driver();
  if (const std::string reason = reason_to_skip(kA100); !reason.empty()) GTEST_SKIP() << reason;
  PlanCache cache(properties_of(kA100), Bits::kReproducible);
  AttentionShape shape = shape_of(kA100, 128);
  const auto plan = cache.get(Pass::kForward, shape, 0).plan;
  ASSERT_NE(plan, nullptr);
  shape.q_rows = 449;
  EXPECT_EQ(cache.get(Pass::kForward, shape, 0).plan, plan);
  EXPECT_EQ(cache.num_plans(), 1);
  shape.q_rows = 448;
  EXPECT_NE(cache.get(Pass::kForward, shape, 0).plan, plan);
  EXPECT_EQ(cache.num_plans(), 2);
  const PlanCache::Entry& refused = cache.get(Pass::kBackward, shape, 0);
  EXPECT_EQ(refused.plan, nullptr);
  EXPECT_NE(refused.refusal.find("none with reproducible bits"), std::string::npos) << refused.refusal;
}

TEST(CudnnBuckets, AreFewAndNotMuchLarger) {
  int64_t buckets = 0, last = 0;
  for (int64_t rows = 1; rows <= 32760; ++rows) {
    const AttentionShape bucket = bucketed({.q_rows = rows, .kv_rows = 2 * rows});
    ASSERT_GE(bucket.q_rows, rows);
    ASSERT_TRUE(bucket.q_rows == 64 || 4 * bucket.q_rows < 5 * rows) << rows << " -> " << bucket.q_rows;
    ASSERT_GE(bucket.q_rows, last) << rows;
    ASSERT_EQ(bucketed(bucket), bucket) << rows;
    buckets += bucket.q_rows != last;
    last = bucket.q_rows;
  }
  EXPECT_EQ(buckets, 1 + 4 * 9);  // 64, then four to each doubling up to 32768
}

TEST(CudnnPlanJson, OfAnUnknownFormIsRefused) {
  for (const char* text : {"", "{}", R"({"engine":{"payload":{"kernels":[]}}})",
                           R"({"engine":{"payload":{"kernels":[{"kernelName":"k","cubin":"AAAA"}]}}})"})
    EXPECT_THROW(kernels_of(text), Error) << text;
}

}  // namespace
}  // namespace zoetrope::cudnn
