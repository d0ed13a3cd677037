// What the measurements share: operators with their work space, random operands on the device, one list of
// results.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "core/arena.h"
#include "core/thread_pool.h"
#include "model/ops/ops.h"
#include "tools/gpu/napkin.h"
#include "tools/gpu/stream_timer.h"

namespace zoetrope {

/// What was measured, or why it was not.
struct GpuRow {
  std::string group, name, shape;
  Work work;
  Bound bound = Bound::kNone;
  double goal = 0;  ///< share of the floor; 0: none is set
  Timing timing = {};
  double share = 0;           ///< floor / time; 0: there is no floor
  std::string left_out = {};  ///< not empty: not measured, and why
  bool misses() const { return left_out.empty() && goal > 0 && share < goal; }
};

/// Rates measured in this run, which floors are counted from.
struct Ceilings {
  double copy = 0;    ///< bytes/s, read and written, of the faster of two large copies
  double matrix = 0;  ///< FLOP/s of the largest square bf16 product
  LaunchOverhead launch;
};

/// How much time and memory measurements may take.
struct LabOptions {
  TimerOptions timer;
  int64_t far_beyond_cache = int64_t(512) << 20;  ///< bytes that operands are to have, by turns
  int64_t square = 8192;                          ///< of the largest product
  int64_t copy_bytes = int64_t(2) << 30;
};

class Lab {
 public:
  /// `largest`: sizes that work space must serve.
  Lab(const LabOptions& options, const KernelSizes& largest);

  const Ops& ops() const { return *ops_; }
  Arena& workspace() { return workspace_; }
  const LabOptions& options() const { return options_; }
  Ceilings ceilings;
  std::vector<GpuRow> rows;

  /// Random values in [-0.5, 0.5) that repeat after some million.
  Tensor random(std::initializer_list<int64_t> shape, DType dtype) const;
  Tensor zeros(std::initializer_list<int64_t> shape, DType dtype) const;
  /// A weight ready for products in bf16.
  Weight weight(int64_t rows, int64_t columns) const;
  /// Number of the sample of each token.
  Tensor segments(const KernelSizes& sizes) const;

  /// Sets of operands that, used by turns, are far beyond the cache: at least 1, at most 16.
  int64_t sets_for(double bytes_of_one) const;
  /// Times `run` and adds the row; what memory doesn't suffice for, or the device refuses, is left out with
  /// the reason. `make` is called once and returns what is timed, with its operands.
  void measure(GpuRow row, const std::function<std::function<void(int64_t)>()>& make);
  /// Adds a row that isn't measured.
  void leave_out(GpuRow row, const std::string& why);

 private:
  LabOptions options_;
  ThreadPool pool_{1};
  Arena workspace_;
  std::unique_ptr<Ops> ops_;
  Tensor values_, narrow_values_;
};

/// "32760 x 1536".
std::string shape_text(std::initializer_list<int64_t> sizes);

/// Copies and square products: sets `lab.ceilings`; called first.
void measure_ceilings(Lab& lab);
/// Norms, rotations, gates, activations, sums, the optimizer: a line of the napkin table each.
void measure_pointwise(Lab& lab, const KernelSizes& sizes);
/// Those whose time depends on how many samples the tokens belong to.
void measure_per_sample(Lab& lab, const KernelSizes& sizes);
/// The three products of the model's linear layers.
void measure_products(Lab& lab, const KernelSizes& sizes);
/// Every attention kernel, forward and backward, over the tokens of each sample.
void measure_attention(Lab& lab, const KernelSizes& sizes);

}  // namespace zoetrope
