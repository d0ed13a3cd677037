// zoetrope_gpu_bench: every kernel of the CUDA backend against its floor, and whole training steps, on the
// GPU that is there. tools/gpu_check.sh runs it.
#pragma once

#include <string>
#include <vector>

#include "core/device.h"
#include "tools/gpu/lab.h"
#include "tools/gpu/whole_step.h"

namespace zoetrope {

/// What is measured. The defaults are the full run.
struct GpuBench {
  LabOptions lab;
  KernelSizes one_sample, short_samples;  ///< as many tokens in one sample, and in several
  std::vector<StepCase> steps;
};
/// At Wan-1.3B size: 32,760 tokens of one clip, or of 21 images. `quick`: a tenth of the time a line, fewer
/// steps.
GpuBench full_gpu_bench(bool quick);

struct GpuReport {
  DeviceInfo device;
  std::string clocks_before, clocks_after;
  Ceilings ceilings;
  std::vector<GpuRow> rows;
  std::vector<StepFigures> steps;
  double seconds = 0;  ///< of the whole run
  /// Lines that are below their goal; lines that weren't measured.
  int64_t num_missed() const;
  int64_t num_left_out() const;
};

/// Measures all on the selected device. `progress`: told about each part before it begins.
GpuReport run_gpu_bench(const GpuBench& bench, const std::function<void(const std::string&)>& progress);

/// A table of at most 120 columns.
std::string gpu_report_table(const GpuReport& report);
std::string gpu_report_json(const GpuReport& report);

}  // namespace zoetrope
