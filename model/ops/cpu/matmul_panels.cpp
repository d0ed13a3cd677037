// Linear layers in bf16 on packed panels (panels.h): weights are packed once per step, activations hardly
// ever. Every sum runs over its terms in an order that depends on their number alone, so results don't depend
// on the number of threads.
#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/panel_blocks.h"
#include "model/ops/cpu/panel_workspace.h"
#include "model/ops/cpu/segment_sums.h"

namespace zoetrope {
namespace {

using namespace cpu;

// Note [Panels per task]: where a dozen right panels with all their terms fit the second-level cache, they
// stay there while one left panel after the other is packed and multiplied. Else a task takes more left
// panels, block after block of terms, and their sums stay there. Rows of activations are read where they are,
// or packed for one block where tiles can't: `in_place`.
constexpr int64_t kResidentBytes = 800 << 10, kMinResident = 12, kMaxResident = 32;
constexpr int64_t kLeftPanels = 8, kRightPanels = 12;
constexpr int64_t kSquaresPerTask = kLeftPanels * kRightPanels;
static_assert(kSquaresPerTask >= kMaxResident);

// Note [Results past the caches]: a plain store first reads the line that it writes to, unless that is in a
// cache; results that are much larger than the caches are not. Their whole lines are streamed, which writes
// to memory at 2.7 times the rate.
constexpr int64_t kStreamedBytes = 8 << 20;

struct Cut {
  bool resident;        ///< the right panels stay, or else the sums
  int64_t left, right;  ///< panels at a time
  int64_t groups;       ///< of left panels, one after the other in a task
};
Cut cut(const Panels& right) {
  const int64_t fit = kResidentBytes / (right.steps() * kStepElements * int64_t(sizeof(bf16)));
  if (fit >= kMinResident) return {true, 1, std::min(fit, kMaxResident), 16};
  return {false, kLeftPanels, kRightPanels, 1};
}

/// Whether a result is large and lies in whole lines of memory.
bool streamed(const Tensor& y) {
  return y.rows() * y.row_size() * int64_t(size_of(y.dtype())) >= kStreamedBytes && lies_on_lines(y);
}

/// Thirty-two columns of a row, all there, into whole lines of memory: past the caches, see
/// Note [Results past the caches].
inline void stream_row(float* to, simd::F16 first, simd::F16 second) {
  simd::stream(to, first);
  simd::stream(to + kHalfPanel, second);
}
inline void stream_row(bf16* to, simd::F16 first, simd::F16 second) {
#if ZT_TILES
  const __m512bh both = _mm512_cvtne2ps_pbh(std::bit_cast<__m512>(second), std::bit_cast<__m512>(first));
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), std::bit_cast<__m512i>(both));
#else
  simd::store(to, first);
  simd::store(to + kHalfPanel, second);
#endif
}

/// Writes the sums of a square that lie within `y`, plus the bias if there is one.
template <class Y>
void put_square(const Tensor& y, int64_t top, int64_t column, const float* sums, const float* bias,
                bool stream) {
  const int64_t rows = std::min(kPanel, y.rows() - top), columns = y.row_size() - column;
  const int64_t first_lanes = std::min(columns, kHalfPanel), second_lanes = columns - kHalfPanel;
  const simd::F16 first_bias = bias ? simd::load(bias + column, first_lanes) : simd::F16{};
  const simd::F16 second_bias =
      bias && second_lanes > 0 ? simd::load(bias + column + kHalfPanel, second_lanes) : simd::F16{};
  Y* line = y.row<Y>(top) + column;
  if (stream && columns >= kPanel) {
    for (int64_t row = 0; row < rows; ++row, line += y.row_stride()) {
      const float* left = row_of_square(sums, row);
      stream_row(line, simd::load(left) + first_bias, simd::load(left + kTileFloats) + second_bias);
    }
    return;
  }
  for (int64_t row = 0; row < rows; ++row, line += y.row_stride()) {
    const float* left = row_of_square(sums, row);
    simd::store(line, simd::load(left) + first_bias, first_lanes);
    if (second_lanes > 0)
      simd::store(line + kHalfPanel, simd::load(left + kTileFloats) + second_bias, second_lanes);
  }
}

/// One task: some left panels, packed from rows of `x` block after block, against some right ones.
struct Task {
  const Tensor &y, &x;
  const Panels& right_shape;
  const bf16* right;
  const float* bias;
  bool right_resident, stream;

  /// Whether left panels from row `top` on can be read where they are: whole tiles of whole lines, whose rows
  /// don't meet in a few sets of the first-level cache.
  bool in_place(int64_t top, int64_t count) const {
    const int64_t row_bytes = x.row_stride() * int64_t(sizeof(bf16));
    return top + count * kPanel <= x.rows() && x.row_size() % kStepTerms == 0 && row_bytes % 64 == 0 &&
           reinterpret_cast<uintptr_t>(x.row<bf16>(top)) % 64 == 0 && row_bytes % 2048 != 0;
  }
  /// Packs the left panels from row `top` on for a block.
  void pack(bf16* to, int64_t top, int64_t count, int64_t block) const {
    const int64_t steps = right_shape.block_steps(block), term = right_shape.block_begin(block) * kStepTerms;
    for (int64_t i = 0; i < count; ++i, top += kPanel, to += steps * kStepElements)
      pack_left_block(to, steps, x.row<bf16>(top) + term, x.row_stride(), std::min(kPanel, x.rows() - top),
                      x.row_size() - term);
  }
  /// The rows of x that product `n` of `of` asks for while `block` runs: of the next block, or of the first
  /// one of the next left panels.
  Ahead rows_ahead(int64_t top, int64_t count, int64_t block, int64_t n, int64_t of) const {
    const bool more = block + 1 < right_shape.blocks();
    const int64_t runs = divide_up(count * kPanel, of), row = (more ? top : top + count * kPanel) + n * runs;
    if (row >= x.rows()) return {};
    const int64_t term = more ? right_shape.block_begin(block + 1) * kStepTerms : 0;
    return {reinterpret_cast<const char*>(x.row<bf16>(row) + term), x.row_stride() * int64_t(sizeof(bf16)),
            std::min(runs, x.rows() - row)};
  }

  template <class Y>
  void run(float* sums, bf16* packed, int64_t top, int64_t count, int64_t first, int64_t right_count) const {
    const int64_t blocks = right_shape.blocks(), squares = count * right_count;
    const auto steps = [&](int64_t block) { return right_shape.block_steps(block); };
    const int64_t row_bytes = x.row_stride() * int64_t(sizeof(bf16));
    const bool plain = in_place(top, count);
    multiply(
        sums, count, right_count, blocks, steps,
        [&](int64_t block) {
          if (!plain) pack(packed, top, count, block);
        },
        [&](int64_t block, int64_t i) {
          if (!plain) return LeftPanel{packed + i * steps(block) * kStepElements};
          return LeftPanel{x.row<bf16>(top + i * kPanel) + right_shape.block_begin(block) * kStepTerms,
                           row_bytes, row_bytes * kHalfPanel, 64};
        },
        [&](int64_t block, int64_t j) { return right + right_shape.at(block, first + j); },
        [&](int64_t block, int64_t n) { return rows_ahead(top, count, block, n, squares); },
        [&](int64_t block, int64_t n) {
          if (right_resident) return Ahead();
          const int64_t next = block + 1 < blocks ? block + 1 : 0;
          return packed_ahead(right + right_shape.at(next, first), right_count, steps(next), n, squares);
        },
        [&](int64_t i, int64_t j) {
          if (!stream) expect_square<Y>(y, top + i * kPanel, (first + j) * kPanel);
        },
        [&](int64_t i, int64_t j, const float* square) {
          put_square<Y>(y, top + i * kPanel, (first + j) * kPanel, square, bias, stream);
        });
  }
};

}  // namespace

int64_t panel_workspace_bytes(int num_threads, int64_t max_tokens, int64_t n, int64_t k) {
  const int64_t sums = kSquaresPerTask * kSquare * int64_t(sizeof(float));
  const int64_t left = kLeftPanels * kBlockSteps * kStepElements * int64_t(sizeof(bf16));
  return std::max(num_threads * (sums + left),
                  weight_gradient_workspace_bytes(num_threads, max_tokens, n, k));
}

void CpuOps::prepare_panels(const Weight& weight) const {
  const Tensor& w = weight.value;
  const Panels forward{w.rows(), w.row_size()}, backward{w.row_size(), w.rows()};
  pool_.parallel_for(forward.panels(), [&](int64_t strip) {
    const int64_t row = strip * kPanel, rows = std::min(kPanel, w.rows() - row);
    pack_right_panel(weight.forward.data<bf16>(), forward, strip, w.row<float>(row), w.row_stride(), rows);
    pack_step<Side::kRight>(weight.backward.data<bf16>(), backward, strip, w.row<float>(row), w.row_stride(),
                            rows);
  });
}

void CpuOps::run_panels(const Tensor& y, const Tensor& x, const Tensor& panels, const Tensor& bias) const {
  const int64_t T = x.rows(), N = y.row_size(), K = x.row_size();
  if (T == 0) return;
  const Panels right{N, K};
  const Cut sizes = cut(right);
  const int64_t left_groups = divide_up(divide_up(T, kPanel), sizes.left);
  // Tasks enough for all threads; a part of the right panels is finished by all of them before the next.
  const int64_t wanted = 2 * pool_.num_threads();
  const int64_t chunks = std::min(left_groups, std::max(wanted, divide_up(left_groups, sizes.groups)));
  const int64_t parts =
      std::min(right.panels(), std::max(divide_up(right.panels(), sizes.right), divide_up(wanted, chunks)));
  const ArenaScope scope(workspace_);
  const Tensor packed =
      workspace_.take({pool_.num_threads(), kLeftPanels * kBlockSteps * kStepElements}, DType::kBF16);
  const Tensor sums = workspace_.take({pool_.num_threads(), kSquaresPerTask * kSquare}, DType::kF32);
  const Task task{y,
                  x,
                  right,
                  panels.data<bf16>(),
                  bias.defined() ? bias.data<float>() : nullptr,
                  sizes.resident,
                  streamed(y)};
  pool_.parallel_for_indexed(parts * chunks, [&](int64_t index, int thread) {
    const TileScope tiles;
    const int64_t part = sizes.resident ? index / chunks : index % parts;
    const int64_t chunk = sizes.resident ? index % chunks : index / parts;
    const int64_t first = part_begin(right.panels(), parts, part),
                  count = part_begin(right.panels(), parts, part + 1) - first;
    dispatch(y.dtype(), [&]<class Y>(Y) {
      for (int64_t group = part_begin(left_groups, chunks, chunk);
           group < part_begin(left_groups, chunks, chunk + 1); ++group) {
        const int64_t top = group * sizes.left * kPanel;
        task.run<Y>(sums.row<float>(thread), packed.row<bf16>(thread), top,
                    std::min(sizes.left, divide_up(T - top, kPanel)), first, count);
      }
    });
    simd::fence();
  });
}

}  // namespace zoetrope
