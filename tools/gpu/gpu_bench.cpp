#include "tools/gpu/gpu_bench.h"

#include <algorithm>

#include "core/clocks.h"

namespace zoetrope {

GpuBench full_gpu_bench(bool quick) {
  GpuBench bench;
  bench.short_samples.samples = 21;
  if (quick) {
    bench.lab.timer.seconds = 0.03;
    bench.lab.copy_bytes = int64_t(1) << 30;
    bench.one_sample.parameters = bench.short_samples.parameters = int64_t(1) << 26;
  }
  const int64_t steps = quick ? 2 : 5;
  const std::vector<int64_t> images(21, 1560);
  // The goals: 25 % with the own attention, 45 % with cuDNN's.
  bench.steps = {
      {"tiny, 16 x 512 tokens", tiny_model(), std::vector<int64_t>(16, 512), 0, 4 * steps},
      {"Wan-1.3B, 32,760, own", wan_1_3b(), {32760}, 0.25, steps},
      {"Wan-1.3B, 32,760, cuDNN", wan_1_3b(), {32760}, 0.45, steps, {AttentionSource::kCudnn, false}},
      {"Wan-1.3B, 21 x 1,560, own", wan_1_3b(), images, 0, steps}};
  return bench;
}

int64_t GpuReport::num_missed() const {
  return std::count_if(rows.begin(), rows.end(), [](const GpuRow& row) { return row.misses(); }) +
         std::count_if(steps.begin(), steps.end(), [](const StepFigures& step) { return step.misses(); });
}
int64_t GpuReport::num_left_out() const {
  return std::count_if(rows.begin(), rows.end(), [](const GpuRow& row) { return !row.left_out.empty(); }) +
         std::count_if(steps.begin(), steps.end(),
                       [](const StepFigures& step) { return !step.left_out.empty(); });
}

GpuReport run_gpu_bench(const GpuBench& bench, const std::function<void(const std::string&)>& progress) {
  const int64_t start = wall_ns();
  GpuReport report;
  report.device = device_info(Device::kCuda);
  report.clocks_before = gpu_clocks(report.device.index);
  {
    Lab lab(bench.lab, bench.one_sample);
    progress("copies and square products");
    measure_ceilings(lab);
    for (const KernelSizes& sizes : {bench.one_sample, bench.short_samples}) {
      progress(std::to_string(sizes.samples) + " samples: pointwise kernels");
      measure_per_sample(lab, sizes);
      if (sizes.samples == 1) measure_pointwise(lab, sizes);
      progress(std::to_string(sizes.samples) + " samples: attention");
      measure_attention(lab, sizes);
    }
    progress("products of the model");
    measure_products(lab, bench.one_sample);
    report.clocks_after = gpu_clocks(report.device.index);
    report.ceilings = lab.ceilings;
    report.rows = std::move(lab.rows);
  }
  for (const StepCase& step : bench.steps) {
    progress("training steps: " + step.name);
    report.steps.push_back(measure_step(step));
    report.steps.back().matrix_rate = report.ceilings.matrix;
  }
  report.seconds = 1e-9 * double(wall_ns() - start);
  return report;
}

}  // namespace zoetrope
