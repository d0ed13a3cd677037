// Linear layers in bf16 on packed panels (panels.h): weights are packed once per step, activations by the
// product that reads them. Every sum runs over its terms in an order that depends on their number alone, so
// results don't depend on the number of threads.
#include <algorithm>
#include <vector>

#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/panel_product.h"
#include "model/ops/cpu/simd.h"

namespace zoetrope {
namespace {

using namespace cpu;

// Panels per task and block: one block of the left and the right operand (196 and 393 KB) and the sums (512
// KB) stay in the second-level cache.
constexpr int64_t kLeftPanels = 8, kRightPanels = 16;
// The same for weight gradients, which read both operands anew for every task.
constexpr int64_t kSumLeftPanels = 12, kSumRightPanels = 16;
constexpr int64_t kLinesPerStep = kStepElements * int64_t(sizeof(bf16)) / 64;
// Rows that weight gradients pack and sum at a time: dweight goes to memory once for each.
constexpr int64_t kPackedRows = 2048;

/// `count` items in `parts` parts of almost equal size: where part `i` begins.
int64_t part_begin(int64_t count, int64_t parts, int64_t i) { return count * i / parts; }

/// Rows and columns of a result that exist: calls f(to, sum, column, count) for runs of up to 16 of them.
template <class T, class F>
inline __attribute__((always_inline)) void for_sums(const Tensor& to, int64_t top, int64_t column,
                                                    const float* sums, const F& f) {
  const int64_t rows = std::min(kPanel, to.rows() - top), columns = to.row_size() - column;
  T* line = to.row<T>(top) + column;
  for (int64_t row = 0; row < rows; ++row, line += to.row_stride()) {
    const float* left = sums + row / 16 * 512 + row % 16 * 16;  // its right half is in the next tile
    if (columns >= kPanel) {
      f(line, simd::load(left), column, simd::kLanes);
      f(line + 16, simd::load(left + 256), column + 16, simd::kLanes);
    } else {
      f(line, simd::load(left), column, std::min<int64_t>(16, columns));
      if (columns > 16) f(line + 16, simd::load(left + 256), column + 16, columns - 16);
    }
  }
}

/// All panel products of left panels from `left_begin` against right panels from `right_begin` over all
/// blocks of terms. expect(left panel, right panel) announces a result, done(left panel, right panel, sums)
/// delivers it one product later: by then the tile registers have long been stored, and what it writes to has
/// come into the cache.
template <class Expect, class Done>
void multiply(float* sums, const bf16* left, const Panels& left_shape, int64_t left_begin, int64_t left_count,
              const bf16* right, const Panels& right_shape, int64_t right_begin, int64_t right_count,
              const bf16* right_ahead, const Expect& expect, const Done& done) {
  const auto square = [&](int64_t i, int64_t j) { return sums + (i * right_count + j) * kSquare; };
  const int64_t last = left_shape.blocks() - 1, squares = left_count * right_count;
  const auto deliver = [&](int64_t n) {
    const int64_t i = n / right_count, j = n % right_count;
    done(left_begin + i, right_begin + j, square(i, j));
  };
  for (int64_t block = 0; block <= last; ++block) {
    const int64_t steps = left_shape.block_steps(block);
    const bf16* ahead = block < last ? right + right_shape.at(block + 1, right_begin) : right_ahead;
    const int64_t lines = divide_up(kLinesPerStep, left_count);
    for (int64_t n = 0; n < squares; ++n) {
      const int64_t i = n / right_count, j = n % right_count;
      if (block == last) expect(left_begin + i, right_begin + j);
      panel_product(square(i, j), left + left_shape.at(block, left_begin + i),
                    right + right_shape.at(block, right_begin + j), steps, block > 0,
                    reinterpret_cast<const char*>(ahead) + n * steps * lines * 64, lines);
      if (block == last && n > 0) deliver(n - 1);
    }
  }
  deliver(squares - 1);
}

/// Asks for the lines of memory that a result is going to be written to.
template <class T>
void expect_square(const Tensor& to, int64_t row, int64_t column) {
  for (const int64_t end = std::min(to.rows(), row + kPanel); row < end; ++row)
    for (int64_t bytes = 0; bytes < kPanel * int64_t(sizeof(T)); bytes += 64)
      __builtin_prefetch(reinterpret_cast<const char*>(to.row<T>(row) + column) + bytes, 1);
}

/// to [N] = sums over the rows of x [rows, N].
void sum_columns(float* to, const Tensor& x) {
  simd::for_lanes(x.row_size(), [&](int64_t c, int64_t n) {
    simd::F16 sum{};
    for (int64_t t = 0; t < x.rows(); ++t) sum += simd::load(x.row<bf16>(t) + c, n);
    simd::store(to + c, sum, n);
  });
}

}  // namespace

int64_t panel_workspace_bytes(int num_threads, int64_t max_tokens, int64_t n, int64_t k) {
  const int64_t sums = std::max(kLeftPanels * kRightPanels, kSumLeftPanels * kSumRightPanels) * kSquare * 4;
  const int64_t left = Panels{kLeftPanels * kPanel, std::max(n, k)}.elements() * 2;
  const int64_t rows = std::min(max_tokens, kPackedRows);
  return num_threads * (sums + left) + Panels{n, rows}.elements() * 2 + Panels{k, rows}.elements() * 2 +
         Arena::padded(Panels{n, rows}.steps() * n * 4);
}

void CpuOps::prepare_panels(const Weight& weight) const {
  const Tensor& w = weight.value;
  const Panels forward{w.rows(), w.row_size()}, backward{w.row_size(), w.rows()};
  pool_.parallel_for(forward.panels(), [&](int64_t strip) {
    const int64_t row = strip * kPanel, rows = std::min(kPanel, w.rows() - row);
    pack_panel<Side::kRight>(weight.forward.data<bf16>(), forward, strip, w.row<float>(row), w.row_stride(),
                             rows);
    pack_step<Side::kRight>(weight.backward.data<bf16>(), backward, strip, w.row<float>(row), w.row_stride(),
                            rows);
  });
}

void CpuOps::run_panels(const Tensor& y, const Tensor& x, const Tensor& panels, const Tensor& bias) const {
  const int64_t T = x.rows(), N = y.row_size(), K = x.row_size();
  const Panels right{N, K}, rows{T, K};
  const int64_t row_tasks = divide_up(rows.panels(), kLeftPanels),
                parts = divide_up(right.panels(), kRightPanels);
  // Columns are shared out too where there are few rows; a task packs its rows once for all of its columns.
  const int64_t groups =
      std::clamp<int64_t>(divide_up(2 * pool_.num_threads(), std::max<int64_t>(row_tasks, 1)), 1, parts);
  const ArenaScope scope(workspace_);
  const Tensor packed = workspace_.take(
      {pool_.num_threads(), Panels{std::min(T, kLeftPanels * kPanel), K}.elements()}, DType::kBF16);
  const Tensor all_sums =
      workspace_.take({pool_.num_threads(), std::min(rows.panels(), kLeftPanels) *
                                                std::min(right.panels(), kRightPanels) * kSquare},
                      DType::kF32);
  const float* offsets = bias.defined() ? bias.data<float>() : nullptr;
  pool_.parallel_for_indexed(row_tasks * groups, [&](int64_t task, int thread) {
    const TileScope tiles;
    const int64_t row_task = task / groups, group = task % groups;
    const int64_t begin = part_begin(rows.panels(), row_tasks, row_task);
    const Panels left{(part_begin(rows.panels(), row_tasks, row_task + 1) - begin) * kPanel, K};
    bf16* to = packed.row<bf16>(thread);
    for (int64_t panel = 0; panel < left.panels(); ++panel) {
      const int64_t row = (begin + panel) * kPanel;
      pack_panel<Side::kLeft>(to, left, panel, x.row<bf16>(row), x.row_stride(), std::min(kPanel, T - row));
    }
    for (int64_t part = part_begin(parts, groups, group); part < part_begin(parts, groups, group + 1);
         ++part) {
      const int64_t first = part_begin(right.panels(), parts, part);
      const int64_t count = part_begin(right.panels(), parts, part + 1) - first;
      const bool more = part + 1 < part_begin(parts, groups, group + 1);
      const int64_t after =
          part_begin(right.panels(), parts, more ? part + 1 : part_begin(parts, groups, group));
      dispatch(y.dtype(), [&]<class Y>(Y) {
        multiply(
            all_sums.row<float>(thread), to, left, 0, left.panels(), panels.data<bf16>(), right, first, count,
            panels.data<bf16>() + right.at(0, after),
            [&](int64_t i, int64_t j) { expect_square<Y>(y, (begin + i) * kPanel, j * kPanel); },
            [&](int64_t i, int64_t j, const float* sums) {
              for_sums<Y>(y, (begin + i) * kPanel, j * kPanel, sums,
                          [&](Y* out, simd::F16 value, int64_t c, int64_t n) {
                            simd::store(out, offsets ? value + simd::load(offsets + c, n) : value, n);
                          });
            });
      });
    }
  });
}

void CpuOps::sum_panels(const Tensor& dweight, const Tensor& dbias, const Tensor& dy, const Tensor& x) const {
  const int64_t N = dy.row_size(), K = x.row_size();
  for (int64_t begin = 0; begin < x.rows(); begin += kPackedRows) {
    const int64_t rows = std::min(x.rows() - begin, kPackedRows);
    const Panels left{N, rows}, right{K, rows};
    const ArenaScope scope(workspace_);
    const Tensor packed_dy = workspace_.take({left.elements()}, DType::kBF16);
    const Tensor packed_x = workspace_.take({right.elements()}, DType::kBF16);
    const Tensor column_sums = workspace_.take({dbias.defined() ? left.steps() : 0, N}, DType::kF32);
    pool_.parallel_for(left.steps(), [&](int64_t step) {
      const int64_t row = step * kStepTerms, count = std::min(kStepTerms, rows - row);
      if (dbias.defined())
        sum_columns(column_sums.row<float>(step), dy.slice_rows(begin + row, begin + row + count));
      pack_step<Side::kLeft>(packed_dy.data<bf16>(), left, step, dy.row<bf16>(begin + row), dy.row_stride(),
                             count);
      pack_step<Side::kRight>(packed_x.data<bf16>(), right, step, x.row<bf16>(begin + row), x.row_stride(),
                              count);
    });
    for (int64_t step = 0; step < column_sums.rows(); ++step)
      simd::for_lanes(N, [&](int64_t c, int64_t n) {
        float* to = dbias.data<float>() + c;
        simd::store(to, simd::load(to, n) + simd::load(column_sums.row<float>(step) + c, n), n);
      });
    const int64_t down = divide_up(left.panels(), kSumLeftPanels),
                  across = divide_up(right.panels(), kSumRightPanels);
    const Tensor all_sums =
        workspace_.take({pool_.num_threads(), kSumLeftPanels * kSumRightPanels * kSquare}, DType::kF32);
    pool_.parallel_for_indexed(down * across, [&](int64_t task, int thread) {
      const TileScope tiles;
      const int64_t top = part_begin(left.panels(), down, task / across),
                    first = part_begin(right.panels(), across, task % across);
      multiply(
          all_sums.row<float>(thread), packed_dy.data<bf16>(), left, top,
          part_begin(left.panels(), down, task / across + 1) - top, packed_x.data<bf16>(), right, first,
          part_begin(right.panels(), across, task % across + 1) - first, packed_x.data<bf16>(),
          [&](int64_t i, int64_t j) { expect_square<float>(dweight, i * kPanel, j * kPanel); },
          [&](int64_t i, int64_t j, const float* sums) {
            for_sums<float>(dweight, i * kPanel, j * kPanel, sums,
                            [](float* to, simd::F16 value, int64_t, int64_t n) {
                              simd::store(to, simd::load(to, n) + value, n);
                            });
          });
    });
  }
}

}  // namespace zoetrope
