// Matrix products: each pool thread runs oneDNN on tiles of rows of fixed sizes (Note [Row tiles]).
#include <algorithm>
#include <vector>

#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/products.h"
#include "model/ops/cpu/segment_sums.h"

namespace zoetrope {
namespace {

using namespace cpu;

// Note [Row tiles]: the number of rows T changes with every step, and oneDNN compiles a kernel for each
// shape (about a millisecond). So rows are cut into tiles of kTile, one rest that is a multiple of
// kSmallTile, and single leftover rows: at most kTile / kSmallTile + kSmallTile shapes per weight, ever.
constexpr int64_t kTile = 256, kSmallTile = 16;
constexpr int64_t kWeightRows = 128;  // rows of dweight per task

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

void check_weight(const char* op, const Weight& weight, DType compute) {
  const Tensor& w = weight.value;
  check_wide(op, "weight", w, w.rows(), w.row_size());
  ZT_CHECK(compute == DType::kF32 || (weight.forward.defined() && weight.forward.dtype() == compute), op,
           ": the weight ", w.shape_text(), " is not prepared for ", name_of(compute));
}

}  // namespace

int64_t CpuOps::prepared_bytes(int64_t n, int64_t k, DType compute) const {
  return compute == DType::kF32 ? 0 : n * k * int64_t(size_of(compute));
}

void CpuOps::reserve_prepared(Weight& weight, DType compute) const {
  check_wide("reserve_prepared", "weight", weight.value, weight.value.rows(), weight.value.row_size());
  if (compute == DType::kF32) return;
  weight.forward = Tensor::empty({weight.value.rows(), weight.value.row_size()}, compute);
}

void CpuOps::prepare(const Weight& weight, DType compute) const {
  check_weight("prepare", weight, compute);
  if (compute != DType::kF32) convert(weight.forward, weight.value);
}

void CpuOps::linear(const Tensor& y, const Tensor& x, const Weight& weight, const Tensor& bias) const {
  const char* op = "linear";
  const int64_t T = x.rows(), N = weight.value.rows(), K = weight.value.row_size();
  check_matrix(op, "x", x, T, K);
  check_matrix(op, "y", y, T, N);
  check_weight(op, weight, x.dtype());
  if (bias.defined()) check_vector(op, "bias", bias, N);
  const Tensor& w = x.dtype() == DType::kF32 ? weight.value : weight.forward;
  run_rows(y, x, N, K, at(w, 0), 1, w.row_stride(), bias.defined() ? bias.raw() : nullptr);
}

void CpuOps::linear_backward_input(const Tensor& dx, const Tensor& dy, const Weight& weight) const {
  const char* op = "linear_backward_input";
  const int64_t T = dy.rows(), N = weight.value.rows(), K = weight.value.row_size();
  check_matrix(op, "dy", dy, T, N);
  check_matrix(op, "dx", dx, T, K);
  check_weight(op, weight, dy.dtype());
  const Tensor& w = dy.dtype() == DType::kF32 ? weight.value : weight.forward;
  run_rows(dx, dy, K, N, at(w, 0), w.row_stride(), 1, nullptr);
}

void CpuOps::run_rows(const Tensor& y, const Tensor& x, int64_t n, int64_t k, const void* b, int64_t b_row,
                      int64_t b_column, const void* bias) const {
  const std::vector<Range> tiles = row_tiles(x.rows());
  Product product{0, n, k, x.row_stride(), 1, b_row, b_column, y.row_stride(), x.dtype(), y.dtype()};
  product.has_bias = bias != nullptr;
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
    products_->run(mine, out_at(y, begin), at(x, begin), b, bias, scratch.row<uint8_t>(thread));
  });
}

void CpuOps::linear_backward_weight(const Tensor& dweight, const Tensor& dbias, const Tensor& dy,
                                    const Tensor& x) const {
  const char* op = "linear_backward_weight";
  const int64_t T = dy.rows(), N = dy.row_size(), K = x.row_size();
  check_matrix(op, "dy", dy, T, N);
  check_matrix(op, "x", x, T, K);
  check_same_type(op, "x", x, dy);
  check_wide(op, "dweight", dweight, N, K);
  if (dbias.defined()) check_vector(op, "dbias", dbias, N);
  if (T == 0) return;
  const std::vector<Range> tiles = row_tiles(T);
  Product product{0, K, 0, 1, dy.row_stride(), x.row_stride(), 1, dweight.row_stride(), dy.dtype(), DType::kF32};
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
  {
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
  if (!dbias.defined()) return;
  dispatch(dy.dtype(), [&]<class Dy>(Dy) {
    sum_by_segment<1>(pool_, workspace_, T, N, nullptr, {dbias.reshape({1, N})},
                      [&](int64_t t, int64_t, const std::array<float*, 1>& sums) {
      simd::for_lanes(N, [&](int64_t i, int64_t n) {
        simd::store(sums[0] + i, simd::load(sums[0] + i, n) + simd::load(dy.row<Dy>(t) + i, n), n);
      });
    });
  });
}

}  // namespace zoetrope
