// Weight gradients in bf16 on packed panels: some thousand rows of dy and x at a time are packed by all
// threads, then multiplied by all of them.
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/panel_blocks.h"
#include "model/ops/cpu/panel_workspace.h"

namespace zoetrope {
namespace {

using namespace cpu;

// Panels per task at most: their sums (576 KB) and two blocks of both operands (384 KB each) stay in the
// second-level cache.
constexpr int64_t kLeftPanels = 12, kRightPanels = 12;
// Rows that are packed and summed up at a time: dweight is read and written once for each.
constexpr int64_t kPackedRows = 4096;

/// dweight += a square of sums.
void add_square(const Tensor& dweight, int64_t top, int64_t column, const float* sums) {
  const int64_t rows = std::min(kPanel, dweight.rows() - top), columns = dweight.row_size() - column;
  const int64_t first_lanes = std::min(columns, kHalfPanel), second_lanes = columns - kHalfPanel;
  float* line = dweight.row<float>(top) + column;
  for (int64_t row = 0; row < rows; ++row, line += dweight.row_stride()) {
    const float* left = row_of_square(sums, row);
    simd::store(line, simd::load(line, first_lanes) + simd::load(left), first_lanes);
    if (second_lanes > 0)
      simd::store(line + kHalfPanel,
                  simd::load(line + kHalfPanel, second_lanes) + simd::load(left + kTileFloats), second_lanes);
  }
}

/// dbias += the sums of all steps, in their order.
void add_column_sums(const Tensor& dbias, const Tensor& column_sums) {
  simd::for_lanes(dbias.size(), [&](int64_t c, int64_t n) {
    simd::F16 sum = simd::load(dbias.data<float>() + c, n);
    for (int64_t step = 0; step < column_sums.rows(); ++step)
      sum += simd::load(column_sums.row<float>(step) + c, n);
    simd::store(dbias.data<float>() + c, sum, n);
  });
}

/// dweight += left right, whole operands packed.
void add_products(const ThreadPool& pool, Arena& workspace, const Tensor& dweight, const bf16* left,
                  const Panels& left_shape, const bf16* right, const Panels& right_shape) {
  const int64_t down = divide_up(left_shape.panels(), kLeftPanels),
                across = divide_up(right_shape.panels(), kRightPanels), blocks = left_shape.blocks();
  const ArenaScope scope(workspace);
  const Tensor sums = workspace.take({pool.num_threads(), kLeftPanels * kRightPanels * kSquare}, DType::kF32);
  const auto steps = [&](int64_t block) { return left_shape.block_steps(block); };
  pool.parallel_for_indexed(down * across, [&](int64_t task, int thread) {
    const TileScope tiles;
    const auto begin = [&](const Panels& shape, int64_t parts, int64_t part) {
      return part_begin(shape.panels(), parts, part);
    };
    const int64_t top = begin(left_shape, down, task / across),
                  first = begin(right_shape, across, task % across);
    const int64_t rows = begin(left_shape, down, task / across + 1) - top;
    const int64_t columns = begin(right_shape, across, task % across + 1) - first;
    // What comes after the last block is another task's first: at worst it is asked for in vain.
    const auto ahead = [&](const bf16* packed, const Panels& shape, int64_t panel, int64_t count,
                           int64_t block, int64_t n) {
      if (block + 1 == blocks) return Ahead();
      return packed_ahead(packed + shape.at(block + 1, panel), count, steps(block + 1), n, rows * columns);
    };
    multiply(
        sums.row<float>(thread), rows, columns, blocks, steps, [](int64_t) {},
        [&](int64_t block, int64_t i) { return LeftPanel{left + left_shape.at(block, top + i)}; },
        [&](int64_t block, int64_t j) { return right + right_shape.at(block, first + j); },
        [&](int64_t block, int64_t n) { return ahead(left, left_shape, top, rows, block, n); },
        [&](int64_t block, int64_t n) { return ahead(right, right_shape, first, columns, block, n); },
        [&](int64_t i, int64_t j) {
          expect_square<float>(dweight, (top + i) * kPanel, (first + j) * kPanel);
        },
        [&](int64_t i, int64_t j, const float* square) {
          add_square(dweight, (top + i) * kPanel, (first + j) * kPanel, square);
        });
  });
}

}  // namespace

int64_t weight_gradient_workspace_bytes(int num_threads, int64_t max_tokens, int64_t n, int64_t k) {
  const int64_t rows = std::min(max_tokens, kPackedRows);
  return num_threads * kLeftPanels * kRightPanels * kSquare * int64_t(sizeof(float)) +
         (Panels{n, rows}.elements() + Panels{k, rows}.elements()) * int64_t(sizeof(bf16)) +
         Arena::padded(Panels{n, rows}.steps() * n * int64_t(sizeof(float)));
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
      const int64_t row = begin + step * kStepTerms, count = std::min(kStepTerms, rows - step * kStepTerms);
      pack_step<Side::kLeft>(packed_dy.data<bf16>(), left, step, dy.row<bf16>(row), dy.row_stride(), count,
                             dbias.defined() ? column_sums.row<float>(step) : nullptr);
      pack_step<Side::kRight>(packed_x.data<bf16>(), right, step, x.row<bf16>(row), x.row_stride(), count);
    });
    if (dbias.defined()) add_column_sums(dbias, column_sums);
    add_products(pool_, workspace_, dweight, packed_dy.data<bf16>(), left, packed_x.data<bf16>(), right);
  }
}

}  // namespace zoetrope
