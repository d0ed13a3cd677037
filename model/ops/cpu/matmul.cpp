// Matrix products: each pool thread runs oneDNN on tiles of rows of fixed sizes (Note [Row tiles]), against
// weights in the library's own layout (Note [Prepared weights]).
#include <algorithm>
#include <vector>

#include "model/ops/cpu/checks.h"
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/packing.h"
#include "model/ops/cpu/products.h"
#include "model/ops/cpu/segment_sums.h"

namespace zoetrope {
namespace {

using namespace cpu;

// Note [Row tiles]: the number of rows T changes with every step, and oneDNN compiles a kernel for each
// shape (0.2 to 2 ms). So rows are cut into full tiles, one rest that is a multiple of kSmallTile, and leftover
// rows: at most tile / kSmallTile + kSmallTile shapes per weight, ever.
constexpr int64_t kSmallTile = 16;
// The weight gradient sums over rows: longer tiles there, since each adds to all of dweight in memory once.
constexpr int64_t kSumTile = 512;
// Rows and columns of dweight per task at most: every task copies its part of dy and x into the library's layout
// for itself, so wide is good, but 768 x 768 sums (2.3 MB) should about stay in L2.
constexpr int64_t kWeightRows = 768;

// Note [Prepared weights]: `forward` holds W^T [K, N] and `backward` W [N, K] as right operands in the layout
// that oneDNN picks, of the product's type. Both take N K elements; where the library's layout would pad
// (sizes not divisible by its blocks), they hold W as it is, which both products can read by strides.

struct Range {
  int64_t begin, size;
};

std::vector<Range> row_tiles(int64_t rows, int64_t full) {
  std::vector<Range> tiles;
  for (int64_t at = 0; at < rows;) {
    const int64_t left = rows - at;
    const int64_t size = left >= full ? full : left >= kSmallTile ? left / kSmallTile * kSmallTile : left;
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

void check_prepared(const char* op, const Weight& weight, DType type) {
  const Tensor& w = weight.value;
  check_wide(op, "weight", w, w.rows(), w.row_size());
  for (const Tensor& form : {weight.forward, weight.backward})
    ZT_CHECK(form.defined() && form.dtype() == type && form.size() == w.size(), op, ": the weight ", w.shape_text(),
             " is not prepared for products in ", name_of(type));
}

/// Copies rows [begin, begin + rows) x columns of x as f32 into `to`, dense.
void widen(float* to, const Tensor& x, int64_t begin, int64_t rows, int64_t first, int64_t columns) {
  for (int64_t t = 0; t < rows; ++t)
    simd::for_lanes(columns, [&](int64_t i, int64_t n) {
      simd::store(to + t * columns + i, simd::load(x.row<bf16>(begin + t) + first + i, n), n);
    });
}

}  // namespace

DType CpuOps::product_type(DType compute) const {
  return compute == DType::kBF16 && !native_bf16_ ? DType::kF32 : compute;
}

bool CpuOps::packs(int64_t k, int64_t n, DType type) const {
  return products_->packed_bytes(k, n, type) == k * n * int64_t(size_of(type));
}

int64_t CpuOps::prepared_bytes(int64_t n, int64_t k, DType compute) const {
  return 2 * n * k * int64_t(size_of(product_type(compute)));
}

void CpuOps::reserve_prepared(Weight& weight, DType compute) const {
  const int64_t N = weight.value.rows(), K = weight.value.row_size();
  check_wide("reserve_prepared", "weight", weight.value, N, K);
  weight.forward = Tensor::empty({N, K}, product_type(compute));
  weight.backward = Tensor::empty({N, K}, product_type(compute));
}

void CpuOps::prepare(const Weight& weight, DType compute) const {
  const DType type = product_type(compute);
  const int64_t N = weight.value.rows(), K = weight.value.row_size();
  check_prepared("prepare", weight, type);
  const bool packed[2] = {packs(K, N, type), packs(N, K, type)};
  // Rounded to `compute` first; where one form stays plain, it is that form.
  const ArenaScope scope(workspace_);
  Tensor plain = !packed[0] ? weight.forward : !packed[1] ? weight.backward : Tensor();
  if (!plain.defined())
    plain = compute == DType::kF32 && weight.value.dense() ? weight.value : workspace_.take({N, K}, type);
  if (compute == type) {
    if (plain.raw() != weight.value.raw()) convert(plain, weight.value);
  } else {
    map_rounded(plain, weight.value);
  }
  pool_.parallel_for(2, [&](int64_t form) {
    const Tensor& to = form == 0 ? weight.forward : weight.backward;
    if (packed[form])
      products_->pack(to.raw(), plain.raw(), form == 0 ? K : N, form == 0 ? N : K, form == 0 ? 1 : K,
                      form == 0 ? K : 1, type);
    else if (to.raw() != plain.raw())
      copy(to, plain);
  });
}

void CpuOps::map_rounded(const Tensor& to, const Tensor& from) const {
  for_rows(pool_, from.rows(), [&](int64_t t) {
    for (int64_t c = 0; c < from.row_size(); ++c) to.row<float>(t)[c] = float(bf16(from.row<float>(t)[c]));
  });
}

void CpuOps::linear(const Tensor& y, const Tensor& x, const Weight& weight, const Tensor& bias) const {
  const char* op = "linear";
  const int64_t T = x.rows(), N = weight.value.rows(), K = weight.value.row_size();
  check_matrix(op, "x", x, T, K);
  check_matrix(op, "y", y, T, N);
  check_prepared(op, weight, product_type(x.dtype()));
  if (bias.defined()) check_vector(op, "bias", bias, N);
  Product product{0, N, K, 0, 1, 1, K};
  product.has_bias = bias.defined();
  run_rows(y, x, product, weight.forward, bias);
}

void CpuOps::linear_backward_input(const Tensor& dx, const Tensor& dy, const Weight& weight) const {
  const char* op = "linear_backward_input";
  const int64_t T = dy.rows(), N = weight.value.rows(), K = weight.value.row_size();
  check_matrix(op, "dy", dy, T, N);
  check_matrix(op, "dx", dx, T, K);
  check_prepared(op, weight, product_type(dy.dtype()));
  run_rows(dx, dy, Product{0, K, N, 0, 1, K, 1}, weight.backward, Tensor());
}

void CpuOps::run_rows(const Tensor& y, const Tensor& x, Product product, const Tensor& b, const Tensor& bias) const {
  const std::vector<Range> tiles = row_tiles(x.rows(), kProductRows);
  const bool convert = b.dtype() != x.dtype();  // bf16 tensors on a processor without bf16 products
  product.in = b.dtype();
  product.out = convert ? DType::kF32 : y.dtype();
  product.packed = packs(product.k, product.n, product.in);
  product.a_row = convert ? product.k : x.row_stride();
  product.c_row = convert ? product.n : y.row_stride();
  int64_t scratch_bytes = 0;
  for (const Range& tile : tiles) {
    product.m = tile.size;
    scratch_bytes = std::max(scratch_bytes, products_->scratch_bytes(product));
  }
  const ArenaScope scope(workspace_);
  const Tensor scratch = workspace_.take({pool_.num_threads(), Arena::padded(scratch_bytes)}, DType::kU8);
  const Tensor widened =
      workspace_.take({pool_.num_threads(), convert ? kProductRows * (product.k + product.n) : 0}, DType::kF32);
  pool_.parallel_for_indexed(int64_t(tiles.size()), [&](int64_t i, int thread) {
    Product mine = product;
    const Range tile = tiles[size_t(i)];
    mine.m = tile.size;
    float *left = widened.row<float>(thread), *result = left + kProductRows * product.k;
    if (convert) widen(left, x, tile.begin, tile.size, 0, product.k);
    products_->run(mine, convert ? static_cast<void*>(result) : out_at(y, tile.begin),
                   convert ? static_cast<const void*>(left) : at(x, tile.begin), b.raw(),
                   bias.defined() ? bias.raw() : nullptr, scratch.row<uint8_t>(thread));
    if (!convert) return;
    dispatch(y.dtype(), [&]<class Y>(Y) {
      for (int64_t t = 0; t < tile.size; ++t)
        simd::for_lanes(product.n, [&](int64_t c, int64_t n) {
          simd::store(y.row<Y>(tile.begin + t) + c, simd::load(result + t * product.n + c, n), n);
        });
    });
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
  sum_products(dweight, dy, x);
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

void CpuOps::sum_products(const Tensor& dweight, const Tensor& dy, const Tensor& x) const {
  const int64_t T = dy.rows(), N = dy.row_size(), K = x.row_size(), threads = pool_.num_threads();
  const bool convert = product_type(dy.dtype()) != dy.dtype();
  const std::vector<Range> tiles = row_tiles(T, kSumTile);
  // As many equal tasks as threads, or a multiple; the library's sums are only promised per thread count.
  const int64_t tasks_wanted = round_up((N + kWeightRows - 1) / kWeightRows, threads);
  const int64_t rows = round_up((N + tasks_wanted - 1) / tasks_wanted, 64), row_tasks = (N + rows - 1) / rows;
  const int64_t wanted = (K + kWeightRows - 1) / kWeightRows;
  const int64_t columns = round_up((K + wanted - 1) / wanted, 64), column_tasks = (K + columns - 1) / columns;
  Product product{0, 0, 0, 1, 0, 0, 1, dweight.row_stride(), product_type(dy.dtype()), DType::kF32};
  product.accumulate = true;
  const auto shaped = [&](int64_t m, int64_t n, int64_t k) {
    Product p = product;
    p.m = m, p.n = n, p.k = k;
    p.a_column = convert ? m : dy.row_stride();
    p.b_row = convert ? n : x.row_stride();
    return p;
  };
  int64_t scratch_bytes = 0;
  for (const Range& tile : tiles)
    for (const int64_t m : {std::min(N, rows), N - (row_tasks - 1) * rows})
      for (const int64_t n : {std::min(K, columns), K - (column_tasks - 1) * columns})
        scratch_bytes = std::max(scratch_bytes, products_->scratch_bytes(shaped(m, n, tile.size)));
  const ArenaScope scope(workspace_);
  const Tensor scratch = workspace_.take({threads, Arena::padded(scratch_bytes)}, DType::kU8);
  const Tensor widened = workspace_.take({threads, convert ? kSumTile * (rows + columns) : 0}, DType::kF32);
  pool_.parallel_for_indexed(row_tasks * column_tasks, [&](int64_t task, int thread) {
    const int64_t begin = task / column_tasks * rows, m = std::min(rows, N - begin);
    const int64_t first = task % column_tasks * columns, n = std::min(columns, K - first);
    for (const Range& tile : tiles) {
      const void *left = at(dy, tile.begin, begin), *right = at(x, tile.begin, first);
      if (convert) {
        float *left_copy = widened.row<float>(thread), *right_copy = left_copy + kSumTile * rows;
        widen(left_copy, dy, tile.begin, tile.size, begin, m);
        widen(right_copy, x, tile.begin, tile.size, first, n);
        left = left_copy, right = right_copy;
      }
      products_->run(shaped(m, n, tile.size), out_at(dweight, begin) + first * int64_t(sizeof(float)), left, right,
                     nullptr, scratch.row<uint8_t>(thread));
    }
  });
}

}  // namespace zoetrope
