// The measurements of tools/gpu/ on the emulated device at tiny sizes: every line is there, its bytes and
// FLOPs are those worked out by hand here, and the kernels' sources say the same of an element. Times mean
// nothing.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>

#include "core/files.h"
#include "model/ops/cuda/register.h"
#include "model/params.h"
#include "tests/simt/devices.h"
#include "tools/gpu/gpu_bench.h"

namespace zoetrope::test {
namespace {

/// 48 tokens in one sample and in three; two heads of 64, MLP 96, four text rows.
GpuBench tiny_bench() {
  GpuBench bench;
  bench.lab.timer = {.seconds = 0, .batch_seconds = 0, .most_batches = 3};
  bench.lab.far_beyond_cache = 0;
  bench.lab.square = 64;
  bench.lab.copy_bytes = 16 * 1000;
  KernelSizes& s = bench.one_sample;
  s.tokens = 48, s.width = 128, s.heads = 2, s.ffn = 96, s.text_rows = 4, s.features = 12,
  s.parameters = 3200;
  bench.short_samples = s;
  bench.short_samples.samples = 3;
  ModelConfig model;
  model.width = 128, model.num_heads = 2, model.num_layers = 2, model.ffn = 96;
  model.frequency_width = 16, model.text_width = 8, model.text_rows = 4, model.patch = {1, 2, 2};
  model.recompute = true;
  bench.steps = {{"tiny", model, {20, 12}, 0, 2}};
  return bench;
}

GpuReport run_tiny() {
  simt::reset_devices();
  register_cuda_backend();
  select_device(Device::kCuda, 0);
  return run_gpu_bench(tiny_bench(), [](const std::string&) {});
}

const GpuReport& tiny_report() {
  static const GpuReport report = run_tiny();
  return report;
}

const GpuRow& row_of(const std::string& name, const std::string& shape) {
  for (const GpuRow& row : tiny_report().rows)
    if (row.name == name && row.shape == shape) return row;
  throw Error("no line '" + name + "' of shape '" + shape + "'");
}

// Worked out by hand: 48 x 128 = 6,144 elements, 48 x 96 = 4,608 in the MLP.
TEST(GpuBench, BytesAndFlopsAreThoseWorkedOutByHand) {
  const struct {
    const char *name, *shape;
    double bytes, flops;
  } lines[] = {
      // x 4, y 2; 48 x (2 statistics, id); shift and scale of each sample 2 x 512
      {"layer_norm_modulate", "48 x 128", 36864 + 384 + 192 + 1024, 55296},
      {"layer_norm_modulate", "48 x 128, 3 samples", 36864 + 384 + 192 + 3072, 55296},
      // dx 8, dy 2, x 4; scale 512, dshift and dscale twice each
      {"layer_norm_modulate backward", "48 x 128", 86016 + 384 + 192 + 2560, 110592},
      {"layer_norm_modulate backward", "48 x 128, 3 samples", 86016 + 384 + 192 + 7680, 110592},
      {"layer_norm", "48 x 128", 36864 + 384 + 1024, 55296},
      {"layer_norm backward", "48 x 128", 86016 + 384 + 2560, 110592},
      // x 2, y 2; rotation 48 x 64 x 4; rstd 192; weight 512
      {"rms_norm_rope", "48 x 128", 24576 + 12288 + 192 + 512, 43008},
      {"rms_norm_rope backward", "48 x 128", 49152 + 12288 + 192 + 1536, 79872},
      {"gate_residual", "48 x 128", 61440 + 192 + 512, 12288},
      {"gate_residual backward", "48 x 128, 3 samples", 49152 + 192 + 4608, 18432},
      {"gelu", "48 x 96", 18432, 92160},
      {"gelu backward", "48 x 96", 27648, 119808},
      {"convert f32 to bf16", "48 x 128", 36864, 0},
      {"add", "48 x 128", 73728, 6144},
      {"zero", "48 x 128", 24576, 0},
      {"column_sums", "48 x 96", 9216 + 768, 4608},
      {"attention_delta", "48 x 128", 24576 + 384, 12288},
      {"adamw + ema", "3200", 115200, 57600},
      {"sum_squares", "3200", 12800, 6400},
      {"rank_sum of 8", "100", 3600, 700},
      {"flow_inputs", "48 x 12", 4032, 34560},
      {"squared_error", "48 x 12", 5760 + 384, 2304},
      {"copy, 16 bytes a thread", "0 MiB", 32000, 0},
      {"product by cuBLASLt", "64 x 64 x 64", 24576, 524288},
      {"q, k, v forward", "48 x 384 x 128", 2.0 * (18432 + 6144 + 49152), 4718592},
      {"output d input", "48 x 128 x 128", 2.0 * (6144 + 6144 + 16384), 1572864},
      {"MLP in d weight", "48 x 96 x 128", 2.0 * (4608 + 6144 + 12288), 1179648},
      {"MLP out forward", "48 x 128 x 96", 2.0 * (6144 + 4608 + 12288), 1179648},
      // 4 x 48 x 48 x 128, 10 x the same; a third of it in three samples
      {"mma.sync forward", "48 x 48 x 128", 4.0 * 6144 * 2 + 384, 1179648},
      {"mma.sync backward", "48 x 48 x 128", 6144.0 * (12 + 20) + 768, 2949120},
      {"mma.sync forward", "3 x 16 x 16 x 128", 4.0 * 6144 * 2 + 384, 393216},
      {"mma.sync backward", "3 x 16 x 4 x 128", 6144.0 * 12 + 1536.0 * 20 + 768, 245760},
  };
  for (const auto& line : lines) {
    SCOPED_TRACE(std::string(line.name) + ", " + line.shape);
    const GpuRow& row = row_of(line.name, line.shape);
    EXPECT_EQ(row.left_out, "");
    EXPECT_EQ(row.work.bytes, line.bytes);
    EXPECT_EQ(row.work.flops, line.flops);
  }
}

TEST(GpuBench, EveryLineIsMeasuredOrSaysWhyNot) {
  const GpuReport& report = tiny_report();
  std::set<std::string> names;
  for (const GpuRow& row : report.rows) {
    names.insert(row.name);
    if (!row.left_out.empty()) {
      EXPECT_TRUE(row.name.starts_with("wgmma") || row.name.starts_with("cuDNN")) << row.name << row.left_out;
      continue;
    }
    EXPECT_GT(row.timing.seconds, 0) << row.name;
    EXPECT_GE(row.timing.batches, 3) << row.name;
    EXPECT_EQ(row.share > 0, row.bound != Bound::kNone) << row.name;
  }
  for (const KernelNapkin& napkin : kernel_napkins())
    EXPECT_TRUE(names.contains(napkin.kernel)) << napkin.kernel;
  ASSERT_EQ(report.steps.size(), 1u);
  EXPECT_EQ(report.steps[0].left_out, "");
  EXPECT_GT(report.steps[0].seconds, 0);
}

TEST(GpuBench, MemoryOfAStepIsWhatTheModelSays) {
  const StepFigures& step = tiny_report().steps.at(0);
  EXPECT_EQ(step.tokens, 32);
  EXPECT_LE(step.used_bytes, step.predicted_bytes);
  // The model pads every tensor; products' room and the sums' work space share the arena's top with nothing.
  EXPECT_GE(step.driver_bytes, step.used_bytes);
}

TEST(GpuBench, TableFitsAndJsonIsComplete) {
  const GpuReport& report = tiny_report();
  std::istringstream table(gpu_report_table(report));
  int64_t lines = 0;
  for (std::string line; std::getline(table, line); ++lines) {
    const bool is_free =
        line.starts_with("  left out") || line.starts_with("before") || line.starts_with("after");
    EXPECT_TRUE(is_free || line.size() <= 120) << line;
  }
  EXPECT_GT(lines, int64_t(report.rows.size()));
  const auto json = nlohmann::json::parse(gpu_report_json(report));
  EXPECT_EQ(json["rows"].size(), report.rows.size());
  EXPECT_EQ(json["steps"].size(), 1u);
  EXPECT_EQ(json["left_out"], report.num_left_out());
}

/// The numbers of "x 4, y 2": what follows each name, sums as in "dx 4 + 4" included.
double sum_of_parts(const std::string& parts) {
  static const std::regex number(R"([a-z_]+ (\d+)(?: \+ (\d+))?)");
  double sum = 0;
  for (auto at = std::sregex_iterator(parts.begin(), parts.end(), number); at != std::sregex_iterator();
       ++at) {
    sum += std::stod((*at)[1]);
    if ((*at)[2].matched) sum += std::stod((*at)[2]);
  }
  return sum;
}

TEST(GpuBench, SourcesSayTheSameOfAnElement) {
  for (const KernelNapkin& napkin : kernel_napkins()) {
    if (*napkin.source == 0) continue;
    SCOPED_TRACE(napkin.kernel);
    const std::string text = read_file(std::string(ZT_SOURCE_DIR) + "/model/ops/cuda/" + napkin.source);
    // "//   forward   x 4, y 2   6   9 FLOP"
    const std::regex line("\n//   " + std::string(napkin.label) +
                          R"( +((?:[a-z_]+ \d+(?: \+ \d+)?(?:, )?)+) +(\d+)(?: |\n))");
    std::smatch match;
    if (!std::regex_search(text, match, line)) {
      ADD_FAILURE() << "no line of '" << napkin.label << "' in " << napkin.source;
      continue;
    }
    EXPECT_EQ(std::stod(match[2]), napkin.bytes_an_element);
    EXPECT_EQ(sum_of_parts(match[1]), napkin.bytes_an_element) << match[1];
  }
}

TEST(GpuBench, KnowsTheRatesOfDataSheets) {
  EXPECT_EQ(data_sheet_rate("NVIDIA H200"), 989.5e12);
  EXPECT_EQ(data_sheet_rate("NVIDIA H200 NVL"), 835.5e12);
  EXPECT_EQ(data_sheet_rate("NVIDIA H100 PCIe"), 756e12);
  EXPECT_EQ(data_sheet_rate("NVIDIA H100 80GB HBM3"), 989.5e12);
  EXPECT_EQ(data_sheet_rate("NVIDIA GB200"), 2500e12);
  EXPECT_EQ(data_sheet_rate("NVIDIA A100-SXM4-80GB"), 312e12);
  EXPECT_EQ(data_sheet_rate("another"), 0);
}

TEST(GpuBench, WanIsTheNetworkOfItsName) {
  const ModelConfig model = wan_1_3b();
  int64_t count = 0;
  for (const Parameter& p : list_parameters(model)) count += p.size;
  EXPECT_EQ(count, 1'418'996'800);  // as the published checkpoint holds
  EXPECT_EQ(list_parameters(model).size(), 825u);
}

}  // namespace
}  // namespace zoetrope::test
