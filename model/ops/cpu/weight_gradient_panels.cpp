// Weight gradients in bf16 on packed panels, dweight += dy^T x: the narrower one of dy and x is packed by all
// threads first; the wider one by the task that multiplies it, block after block of rows.
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/panel_blocks.h"
#include "model/ops/cpu/panel_workspace.h"

namespace zoetrope {
namespace {

using namespace cpu;

// Panels per task at most: `kFreshPanels` of the operand that the task packs, `kPackedPanels` of the other.
// The sums (384 KB), a block of the fresh ones (128 KB) and two of the others (192 KB each) stay in the
// second-level cache with room to spare: half as much again ran 20 % slower.
constexpr int64_t kFreshPanels = 8, kPackedPanels = 12;
// Rows that are summed up at a time: dweight is read and written once for each.
constexpr int64_t kRowsAtATime = 8192;

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

/// dbias += `sums` of its columns from `begin` on.
void add_sums(const Tensor& dbias, int64_t begin, const float* sums, int64_t count) {
  float* to = dbias.data<float>() + begin;
  simd::for_lanes(count, [&](int64_t c, int64_t n) {
    simd::store(to + c, simd::load(to + c, n) + simd::load(sums + c, n), n);
  });
}

/// Packs `rows` rows of x from `begin` on as one side of a product over rows; dbias, when given, += their
/// sums.
template <Side kSide>
void pack_rows(const ThreadPool& pool, Arena& workspace, bf16* to, const Panels& shape, const Tensor& x,
               int64_t begin, const Tensor& dbias) {
  const ArenaScope scope(workspace);
  const Tensor sums = workspace.take({dbias.defined() ? shape.steps() : 0, shape.outer}, DType::kF32);
  pool.parallel_for(shape.steps(), [&](int64_t step) {
    const int64_t row = step * kStepTerms, count = std::min(kStepTerms, shape.terms - row);
    pack_step<kSide>(to, shape, step, x.row<bf16>(begin + row), x.row_stride(), count,
                     dbias.defined() ? sums.row<float>(step) : nullptr);
  });
  for (int64_t step = 0; step < sums.rows(); ++step) add_sums(dbias, 0, sums.row<float>(step), shape.outer);
}

/// Some panels of the operand that a task packs itself, a block of rows at a time.
template <Side kSide>
struct FreshPanels {
  const Tensor& matrix;
  int64_t row_begin;     ///< the first row of all
  const Panels& shape;   ///< of the whole operand
  int64_t begin, count;  ///< panels
  bf16* packed;

  /// Packs a block; `sums`, when given, += the sums over its rows.
  void pack(int64_t block, float* sums) const {
    const int64_t steps = shape.block_steps(block), column = begin * kPanel;
    const Panels here{std::min(count * kPanel, shape.outer - column), steps * kStepTerms};
    float step_sums[kFreshPanels * kPanel];
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t row = (shape.block_begin(block) + step) * kStepTerms;
      pack_step<kSide>(packed, here, step, matrix.row<bf16>(row_begin + row) + column, matrix.row_stride(),
                       std::min(kStepTerms, shape.terms - row), sums ? step_sums : nullptr);
      if (sums)
        simd::for_lanes(here.outer, [&](int64_t c, int64_t n) {
          simd::store(sums + c, simd::load(sums + c, n) + simd::load(step_sums + c, n), n);
        });
    }
  }
  const bf16* at(int64_t block, int64_t panel) const {
    return packed + panel * shape.block_steps(block) * kStepElements;
  }
  /// The rows of the next block that product `n` of `of` asks for.
  Ahead ahead(int64_t block, int64_t n, int64_t of) const {
    if (block + 1 == shape.blocks()) return {};
    const int64_t rows = divide_up(shape.block_steps(block + 1) * kStepTerms, of);
    const int64_t row = shape.block_begin(block + 1) * kStepTerms + n * rows;
    if (row >= shape.terms) return {};
    return {reinterpret_cast<const char*>(matrix.row<bf16>(row_begin + row) + begin * kPanel),
            matrix.row_stride() * int64_t(sizeof(bf16)), std::min(rows, shape.terms - row)};
  }
};

/// Some panels of the operand that is packed as a whole.
struct PackedPanels {
  const bf16* packed;
  const Panels& shape;
  int64_t begin, count;

  const bf16* at(int64_t block, int64_t panel) const { return packed + shape.at(block, begin + panel); }
  Ahead ahead(int64_t block, int64_t n, int64_t of) const {
    if (block + 1 == shape.blocks()) return {};
    return packed_ahead(at(block + 1, 0), count, shape.block_steps(block + 1), n, of);
  }
};

/// dweight += left right for the panels of a task; before(block) comes first in every block.
template <class Left, class Right, class Before>
void add_squares(const Tensor& dweight, float* sums, const Left& left, const Right& right,
                 const Before& before) {
  const int64_t squares = left.count * right.count;
  multiply(
      sums, left.count, right.count, left.shape.blocks(),
      [&](int64_t block) { return left.shape.block_steps(block); }, before,
      [&](int64_t block, int64_t i) { return LeftPanel{left.at(block, i)}; },
      [&](int64_t block, int64_t j) { return right.at(block, j); },
      [&](int64_t block, int64_t n) { return left.ahead(block, n, squares); },
      [&](int64_t block, int64_t n) { return right.ahead(block, n, squares); },
      [&](int64_t i, int64_t j) {
        expect_square<float>(dweight, (left.begin + i) * kPanel, (right.begin + j) * kPanel);
      },
      [&](int64_t i, int64_t j, const float* square) {
        add_square(dweight, (left.begin + i) * kPanel, (right.begin + j) * kPanel, square);
      });
}

/// `shape`'s panels in parts of at most `most`, at least `wanted` parts where there are so many panels.
int64_t parts_of(const Panels& shape, int64_t most, int64_t wanted) {
  return std::clamp(wanted, divide_up(shape.panels(), most), shape.panels());
}

}  // namespace

int64_t weight_gradient_workspace_bytes(int num_threads, int64_t max_tokens, int64_t n, int64_t k) {
  const int64_t rows = std::min(max_tokens, kRowsAtATime), narrow = std::min(n, k);
  const int64_t fresh = kFreshPanels * kBlockSteps * kStepElements * int64_t(sizeof(bf16));
  const int64_t sums = kFreshPanels * kPackedPanels * kSquare * int64_t(sizeof(float));
  const Panels packed{narrow, rows};
  return num_threads * (fresh + sums) + packed.elements() * int64_t(sizeof(bf16)) +
         Arena::padded(packed.steps() * narrow * int64_t(sizeof(float)));
}

void CpuOps::sum_panels(const Tensor& dweight, const Tensor& dbias, const Tensor& dy, const Tensor& x) const {
  const bool fresh_left = dy.row_size() >= x.row_size();
  for (int64_t begin = 0; begin < x.rows(); begin += kRowsAtATime) {
    const int64_t rows = std::min(x.rows() - begin, kRowsAtATime);
    const Panels left{dy.row_size(), rows}, right{x.row_size(), rows};
    const ArenaScope scope(workspace_);
    const Tensor packed = workspace_.take({(fresh_left ? right : left).elements()}, DType::kBF16);
    if (fresh_left)
      pack_rows<Side::kRight>(pool_, workspace_, packed.data<bf16>(), right, x, begin, Tensor());
    else pack_rows<Side::kLeft>(pool_, workspace_, packed.data<bf16>(), left, dy, begin, dbias);

    const Panels &fresh_shape = fresh_left ? left : right, &packed_shape = fresh_left ? right : left;
    const int64_t packed_parts = parts_of(packed_shape, kPackedPanels, 1);
    const int64_t fresh_parts =
        parts_of(fresh_shape, kFreshPanels, divide_up(2 * pool_.num_threads(), packed_parts));
    const Tensor fresh_space =
        workspace_.take({pool_.num_threads(), kFreshPanels * kBlockSteps * kStepElements}, DType::kBF16);
    const Tensor sums =
        workspace_.take({pool_.num_threads(), kFreshPanels * kPackedPanels * kSquare}, DType::kF32);
    pool_.parallel_for_indexed(fresh_parts * packed_parts, [&](int64_t task, int thread) {
      const TileScope tiles;
      const auto range = [](const Panels& shape, int64_t parts, int64_t part) {
        const int64_t first = part_begin(shape.panels(), parts, part);
        return std::pair(first, part_begin(shape.panels(), parts, part + 1) - first);
      };
      const auto [packed_begin, packed_count] = range(packed_shape, packed_parts, task % packed_parts);
      const auto [fresh_begin, fresh_count] = range(fresh_shape, fresh_parts, task / packed_parts);
      const PackedPanels whole{packed.data<bf16>(), packed_shape, packed_begin, packed_count};
      bf16* space = fresh_space.row<bf16>(thread);
      if (!fresh_left) {
        const FreshPanels<Side::kRight> fresh{x, begin, right, fresh_begin, fresh_count, space};
        return add_squares(dweight, sums.row<float>(thread), whole, fresh,
                           [&](int64_t block) { fresh.pack(block, nullptr); });
      }
      const FreshPanels<Side::kLeft> fresh{dy, begin, left, fresh_begin, fresh_count, space};
      const bool with_bias = dbias.defined() && packed_begin == 0;
      float bias_sums[kFreshPanels * kPanel] = {};
      add_squares(dweight, sums.row<float>(thread), fresh, whole,
                  [&](int64_t block) { fresh.pack(block, with_bias ? bias_sums : nullptr); });
      if (with_bias)
        add_sums(dbias, fresh_begin * kPanel, bias_sums,
                 std::min(fresh_count * kPanel, left.outer - fresh_begin * kPanel));
    });
  }
}

}  // namespace zoetrope
