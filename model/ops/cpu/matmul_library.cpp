// Linear layers by oneDNN: each pool thread runs tiles of rows of fixed sizes (Note [Row tiles]).
#include <algorithm>
#include <vector>

#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/products.h"

namespace zoetrope {
namespace {

// Note [Row tiles]: the number of rows T changes with every step, and oneDNN compiles a kernel for each
// shape (about a millisecond). So rows are cut into tiles of kTile, one rest that is a multiple of
// kSmallTile, and single leftover rows: at most kTile / kSmallTile + kSmallTile shapes per weight, ever.
constexpr int64_t kTile = 256, kSmallTile = 16;
constexpr int64_t kWeightRows = 128;    // rows of dweight per task
constexpr int64_t kWidenedRows = 1024;  // rows that are widened from bf16 to f32 at a time

struct Range {
  int64_t begin, size;
};

std::vector<Range> row_tiles(int64_t rows) {
  std::vector<Range> tiles;
  for (int64_t at = 0; at < rows;) {
    const int64_t left = rows - at;
    const int64_t size = left >= kTile ? kTile : left >= kSmallTile ? left / kSmallTile * kSmallTile : left;
    tiles.push_back({at, size});
    at += size;
  }
  return tiles;
}

const char* at(const Tensor& t, int64_t row, int64_t column = 0) {
  return static_cast<const char*>(t.raw()) + (row * t.row_stride() + column) * int64_t(size_of(t.dtype()));
}
char* out_at(const Tensor& t, int64_t row) {
  return static_cast<char*>(t.raw()) + row * t.row_stride() * int64_t(size_of(t.dtype()));
}

}  // namespace

void CpuOps::run_library(const Tensor& y, const Tensor& x, const Tensor& b, bool transposed,
                         const Tensor& bias) const {
  const std::vector<Range> tiles = row_tiles(x.rows());
  Product product{0, y.row_size(), x.row_size(), x.row_stride()};
  product.b_row = transposed ? 1 : b.row_stride();
  product.b_column = transposed ? b.row_stride() : 1;
  product.c_row = y.row_stride();
  product.in = x.dtype();
  product.out = y.dtype();
  product.has_bias = bias.defined();
  int64_t scratch_bytes = 0;
  for (const Range& tile : tiles) {
    product.m = tile.size;
    scratch_bytes = std::max(scratch_bytes, products_->scratch_bytes(product));
  }
  const ArenaScope scope(workspace_);
  const Tensor scratch = workspace_.take({pool_.num_threads(), Arena::padded(scratch_bytes)}, DType::kU8);
  pool_.parallel_for_indexed(int64_t(tiles.size()), [&](int64_t i, int thread) {
    Product mine = product;
    mine.m = tiles[size_t(i)].size;
    const int64_t begin = tiles[size_t(i)].begin;
    products_->run(mine, out_at(y, begin), at(x, begin), b.raw(), bias.defined() ? bias.raw() : nullptr,
                   scratch.row<uint8_t>(thread));
  });
}

void CpuOps::run_widened(const Tensor& y, const Tensor& x, const Tensor& b, bool transposed,
                         const Tensor& bias) const {
  const int64_t N = y.row_size(), K = x.row_size();
  for (int64_t begin = 0; begin < x.rows(); begin += kWidenedRows) {
    const int64_t end = std::min(x.rows(), begin + kWidenedRows);
    const ArenaScope scope(workspace_);
    const Tensor wide = workspace_.take({end - begin, K}, DType::kF32), part = y.slice_rows(begin, end);
    const Tensor sums = y.dtype() == DType::kF32 ? part : workspace_.take({end - begin, N}, DType::kF32);
    convert(wide, x.slice_rows(begin, end));
    run_library(sums, wide, b, transposed, bias);
    if (y.dtype() != DType::kF32) convert(part, sums);
  }
}

void CpuOps::sum_widened(const Tensor& dweight, const Tensor& dy, const Tensor& x) const {
  for (int64_t begin = 0; begin < x.rows(); begin += kWidenedRows) {
    const int64_t rows = std::min(x.rows() - begin, kWidenedRows);
    const ArenaScope scope(workspace_);
    const Tensor wide_dy = workspace_.take({rows, dy.row_size()}, DType::kF32);
    const Tensor wide_x = workspace_.take({rows, x.row_size()}, DType::kF32);
    convert(wide_dy, dy.slice_rows(begin, begin + rows));
    convert(wide_x, x.slice_rows(begin, begin + rows));
    sum_library(dweight, wide_dy, wide_x);
  }
}

void CpuOps::sum_library(const Tensor& dweight, const Tensor& dy, const Tensor& x) const {
  const int64_t N = dy.row_size(), K = x.row_size();
  const std::vector<Range> tiles = row_tiles(dy.rows());
  Product product{0,          K,          0, 1, dy.row_stride(), x.row_stride(), 1, dweight.row_stride(),
                  dy.dtype(), DType::kF32};
  product.accumulate = true;
  const int64_t tasks = (N + kWeightRows - 1) / kWeightRows;
  int64_t scratch_bytes = 0;
  for (const Range& tile : tiles) {
    for (const int64_t rows : {std::min(N, kWeightRows), N - (tasks - 1) * kWeightRows}) {
      product.m = rows;
      product.k = tile.size;
      scratch_bytes = std::max(scratch_bytes, products_->scratch_bytes(product));
    }
  }
  const ArenaScope scope(workspace_);
  const Tensor scratch = workspace_.take({pool_.num_threads(), Arena::padded(scratch_bytes)}, DType::kU8);
  pool_.parallel_for_indexed(tasks, [&](int64_t task, int thread) {
    Product mine = product;
    const int64_t begin = task * kWeightRows;
    mine.m = std::min(kWeightRows, N - begin);
    for (const Range& tile : tiles) {
      mine.k = tile.size;
      products_->run(mine, out_at(dweight, begin), at(dy, tile.begin, begin), at(x, tile.begin), nullptr,
                     scratch.row<uint8_t>(thread));
    }
  });
}

}  // namespace zoetrope
