// Matrix products of the CPU backend against plain loops in double, in every way that they run.
#include "model/ops/cpu/cpu_ops.h"
#include "model/ops/cpu/products.h"
#include "model/ops/cpu/tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/support/close.h"
#include "tests/support/op_tensors.h"

namespace zoetrope {
namespace {

using test::all_within;
using test::dot_bound;
using test::element;
using test::make_weight;
using test::Output;
using test::random_matrix;
using test::random_vector;
using test::store_bound;

constexpr DType kTypes[] = {DType::kF32, DType::kBF16};

constexpr std::pair<int64_t, int64_t> kShapes[] = {{33, 48}, {64, 1}, {1, 31}, {130, 64}, {64, 192},
                                                   {1, 1},   {2, 1},  {1, 64}, {3, 290}};

/// The ways of bf16 products that this processor has.
std::vector<Bf16Products> ways() {
  std::vector<Bf16Products> all{Bf16Products::kWidened};
  if (has_native_bf16()) all.push_back(Bf16Products::kLibrary);
  if (cpu::has_tiles()) all.push_back(Bf16Products::kPanels);
  return all;
}

struct Backend {
  explicit Backend(Bf16Products way = best_bf16_products(), int threads = 2)
      : pool(threads),
        workspace(64 << 20, Device::kCpu, "test"),
        ops(std::make_unique<CpuOps>(pool, workspace, way)) {}
  ThreadPool pool;
  Arena workspace;
  std::unique_ptr<Ops> ops;
};

/// A matrix in double, rounded to the type that products read it in.
class Doubles {
 public:
  explicit Doubles(const Tensor& x, DType compute = DType::kF32) : columns_(x.row_size()) {
    for (int64_t t = 0; t < x.rows(); ++t)
      for (int64_t c = 0; c < columns_; ++c) {
        const double value = element(x, t, c);
        values_.push_back(compute == DType::kBF16 ? double(float(bf16(float(value)))) : value);
      }
  }
  double operator()(int64_t t, int64_t c) const { return values_.data()[t * columns_ + c]; }

 private:
  int64_t columns_;
  std::vector<double> values_;
};

/// A sum of products in double, and how far f32 may lie from it.
struct Sum {
  explicit Sum(double first = 0) : total(first), mass(std::abs(first)) {}
  void add(double term) { total += term, mass += std::abs(term); }
  test::Allowed allowed(int64_t count, DType stored = DType::kF32) const {
    return {total, dot_bound(mass, total, count) + store_bound(stored, total)};
  }
  double total, mass;
};

void check_linear(const Backend& backend, DType compute) {
  for (const DType out : {compute, DType::kF32})
    for (const int64_t T : {0, 1, 2, 31, 33, 257, 600})
      for (const auto& [N, K] : kShapes) {
        SCOPED_TRACE(join_message("T ", T, " N ", N, " K ", K, " ", name_of(compute), " -> ", name_of(out)));
        const Weight weight = make_weight(*backend.ops, N, K, compute, 3);
        const Tensor x = random_matrix(T, K, 1, compute, 1, 0, 5), bias = random_vector(N, 2);
        const Tensor dy = random_matrix(T, N, 4, compute, 1, 0, 3);
        const Output y(T, N, out), dx(T, K, out);
        backend.ops->linear(y.view(), x, weight, bias);
        backend.ops->linear_backward_input(dx.view(), dy, weight);
        const Doubles xs(x), dys(dy), ws(weight.value, compute);
        EXPECT_TRUE(all_within(y.view(), [&](int64_t t, int64_t n) {
          Sum sum(element(bias, n, 0));
          for (int64_t k = 0; k < K; ++k) sum.add(xs(t, k) * ws(n, k));
          return sum.allowed(K + 1, out);
        }));
        EXPECT_TRUE(all_within(dx.view(), [&](int64_t t, int64_t k) {
          Sum sum;
          for (int64_t n = 0; n < N; ++n) sum.add(dys(t, n) * ws(n, k));
          return sum.allowed(N, out);
        }));
        EXPECT_TRUE(y.guards_intact() && dx.guards_intact());
      }
}

void check_weight_gradient(const Backend& backend, DType compute) {
  for (const int64_t T : {0, 1, 2, 31, 33, 257, 600})
    for (const auto& [N, K] : kShapes) {
      SCOPED_TRACE(join_message("T ", T, " N ", N, " K ", K, " ", name_of(compute)));
      const Tensor x = random_matrix(T, K, 1, compute, 1, 0, 5),
                   dy = random_matrix(T, N, 4, compute, 1, 0, 3);
      const Tensor dweight = random_matrix(N, K, 5), dbias = random_vector(N, 6);
      const Tensor dweight0 = test::clone(dweight), dbias0 = test::clone(dbias);
      backend.ops->linear_backward_weight(dweight, dbias, dy, x);
      const Doubles xs(x), dys(dy);
      EXPECT_TRUE(all_within(dweight, [&](int64_t n, int64_t k) {
        Sum sum(element(dweight0, n, k));
        for (int64_t t = 0; t < T; ++t) sum.add(dys(t, n) * xs(t, k));
        return sum.allowed(T + 1);
      }));
      EXPECT_TRUE(all_within(dbias, [&](int64_t n, int64_t) {
        Sum sum(element(dbias0, n, 0));
        for (int64_t t = 0; t < T; ++t) sum.add(dys(t, n));
        return sum.allowed(T + 1);
      }));
    }
}

TEST(CpuProducts, InF32) {
  check_linear(Backend(), DType::kF32);
  check_weight_gradient(Backend(), DType::kF32);
}
// By oneDNN, by f32 products as on a processor without bf16 ones, by own kernels on packed panels.
TEST(CpuProducts, InBf16InEveryWay) {
  for (const Bf16Products way : ways()) {
    SCOPED_TRACE(join_message("way ", int(way)));
    check_linear(Backend(way), DType::kBF16);
    check_weight_gradient(Backend(way), DType::kBF16);
  }
}

// Every way that a product's operands can lie in memory, vectors among them: a library's special cases for
// those differ from version to version.
TEST(CpuProducts, EveryKindOfStrides) {
  const Products products;
  const Tensor scratch = Tensor::empty({1 << 20}, DType::kU8);
  // Where a processor has no bf16 products the library has none either, and nobody asks for them.
  for (const DType in :
       has_native_bf16() ? std::vector<DType>{DType::kF32, DType::kBF16} : std::vector<DType>{DType::kF32})
    for (const int64_t m : {1, 2, 31, 33})
      for (const int64_t n : {1, 2, 31, 33})
        for (const int64_t k : {1, 2, 31, 33})
          for (const int64_t gap : {0, 3})
            for (int kind = 0; kind < 16; ++kind) {
              const bool a_turned = kind & 1, b_turned = kind & 2, accumulate = kind & 4, has_bias = kind & 8;
              const Tensor a =
                  a_turned ? random_matrix(k, m, 1, in, 1, 0, gap) : random_matrix(m, k, 1, in, 1, 0, gap);
              const Tensor b =
                  b_turned ? random_matrix(n, k, 2, in, 1, 0, gap) : random_matrix(k, n, 2, in, 1, 0, gap);
              const Tensor bias = random_vector(n, 3), before = random_matrix(m, n, 4);
              const Output c(m, n, DType::kF32);
              copy(c.view(), before);
              Product product{m, n, k};
              product.a_row = a_turned ? 1 : a.row_stride(), product.a_column = a_turned ? a.row_stride() : 1;
              product.b_row = b_turned ? 1 : b.row_stride(), product.b_column = b_turned ? b.row_stride() : 1;
              product.c_row = c.view().row_stride();
              product.in = in;
              product.accumulate = accumulate, product.has_bias = has_bias;
              ASSERT_LE(products.scratch_bytes(product), scratch.bytes());
              products.run(product, c.view().raw(), a.raw(), b.raw(), has_bias ? bias.raw() : nullptr,
                           scratch.raw());
              const Doubles as(a), bs(b);
              SCOPED_TRACE(join_message("[", m, ", ", k, "] x [", k, ", ", n, "] ", name_of(in), " kind ",
                                        kind, " gap ", gap));
              EXPECT_TRUE(all_within(c.view(), [&](int64_t i, int64_t j) {
                Sum sum(accumulate ? element(before, i, j) : 0);
                if (has_bias) sum.add(element(bias, j, 0));
                for (int64_t l = 0; l < k; ++l)
                  sum.add((a_turned ? as(l, i) : as(i, l)) * (b_turned ? bs(j, l) : bs(l, j)));
                return sum.allowed(k + 2);
              }));
              EXPECT_TRUE(c.guards_intact());
            }
}

/// y, dx, dweight and dbias of one layer, one after the other.
std::vector<Tensor> layer(const Backend& backend, DType compute, int64_t T, int64_t N, int64_t K) {
  const Weight weight = make_weight(*backend.ops, N, K, compute, 3);
  const Tensor x = random_matrix(T, K, 1, compute), dy = random_matrix(T, N, 2, compute);
  std::vector<Tensor> results{Tensor::empty({T, N}, compute), Tensor::empty({T, K}, DType::kF32),
                              Tensor::zeros({N, K}, DType::kF32), Tensor::zeros({N}, DType::kF32)};
  backend.ops->linear(results[0], x, weight, random_vector(N, 4));
  backend.ops->linear_backward_input(results[1], dy, weight);
  backend.ops->linear_backward_weight(results[2], results[3], dy, x);
  return results;
}

// More rows than the weight gradient packs at a time, and more columns than a task has.
TEST(CpuProducts, BitEqualForEveryThreadCountAndFromRunToRun) {
  for (const DType compute : kTypes)
    for (const Bf16Products way : ways()) {
      if (compute == DType::kF32 && way != ways().front()) continue;
      const auto first = layer(Backend(way, 1), compute, 2100, 600, 72);
      for (const int threads : {1, 2, 3, 7}) {
        const auto again = layer(Backend(way, threads), compute, 2100, 600, 72);
        for (size_t i = 0; i < first.size(); ++i)
          EXPECT_EQ(std::memcmp(again[i].raw(), first[i].raw(), size_t(first[i].bytes())), 0)
              << "result " << i << ", " << threads << " threads, way " << int(way) << ", "
              << name_of(compute);
      }
    }
}

}  // namespace
}  // namespace zoetrope
