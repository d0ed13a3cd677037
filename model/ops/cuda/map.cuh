// Elementwise operators: y = f(x0, x1, ...), two packs of elements a thread.
//
// Note [Packs of a warp]: a pack is 16 bytes of the widest operand, so that in every access the packs of a
// warp are one piece of memory. Packs of 32 bytes, which take two accesses, would use half of each 32-byte
// sector in each: stores then go to the cache twice, in halves.
#pragma once

#include <algorithm>

#include "model/ops/cuda/checks.h"
#include "model/ops/cuda/launch.h"
#include "model/ops/cuda/rows.h"

namespace zoetrope::cuda {

inline constexpr int kMapThreads = 256, kMapPacks = 2;

/// result[j] = f(packs[j]...).
template <int kN, class F, class... Packs>
__device__ inline Pack<kN> apply(const F& f, const Packs&... packs) {
  Pack<kN> result;
#pragma unroll
  for (int j = 0; j < kN; ++j) result[j] = f(packs[j]...);
  return result;
}

/// y[t][c] = f(x[t][c]...); `tiles` blocks share a row. A thread's packs lie a block's width apart, so that
/// the accesses of a warp are one piece of memory (Note [Packs of a warp]). An operand may lie where y does:
/// a thread has loaded all of its elements before it stores any.
template <int kN, class F, class Y, class... X>
__global__ void __launch_bounds__(kMapThreads)
    map_kernel(int64_t width, unsigned tiles, F f, Rows<Y> y, X... x) {
  const int64_t t = blockIdx.x / tiles, step = int64_t(blockDim.x) * kN;
  const int64_t first = blockIdx.x % tiles * kMapPacks * step + threadIdx.x * kN;
  Pack<kN> results[kMapPacks];
#pragma unroll
  for (int k = 0; k < kMapPacks; ++k)
    if (const int64_t c = first + k * step; c < width) {
      const int n = int(min(int64_t(kN), width - c));
      results[k] = apply<kN>(f, load<kN>(x[t] + c, n)...);
    }
#pragma unroll
  for (int k = 0; k < kMapPacks; ++k)
    if (const int64_t c = first + k * step; c < width)
      store(y[t] + c, results[k], int(min(int64_t(kN), width - c)));
}

/// Launches map_kernel over `rows` rows; packs of kWide elements where everything is on 16 bytes (`wide`).
template <int kWide, class F, class Y, class... X>
void run_map(const char* name, cudaStream_t stream, int64_t rows, int64_t width, bool wide, const F& f,
             Rows<Y> y, X... x) {
  if (rows == 0 || width == 0) return;
  with_access<kWide>(wide, [&]<int kN>() {
    const unsigned threads = std::min<unsigned>(kMapThreads, threads_for(width, kN * kMapPacks));
    const int64_t tiles = ceil_div(width, int64_t(threads) * kN * kMapPacks);
    ZT_CHECK(rows * tiles <= 0x7fffffff, name, ": ", rows, " rows of ", width,
             " elements need more blocks than a launch has; cut the rows into two calls");
    launch(map_kernel<kN, F, Y, X...>, LaunchShape{dim3(unsigned(rows * tiles)), dim3(threads), 0, name},
           stream, width, unsigned(tiles), f, y, x...);
  });
}

/// Elements of a pack: 16 bytes of the widest operand.
template <class... T>
inline constexpr int kMapWidth = ((sizeof(T) == 2) && ...) ? 8 : 4;

/// Calls f(T{}...) with the element types of the tensors.
template <class F>
void dispatch_all(const F& f) {
  f();
}
template <class F, class... Rest>
void dispatch_all(const F& f, const Tensor& first, const Rest&... rest) {
  dispatch(first.dtype(), [&]<class T>(T type) {
    dispatch_all([&]<class... Others>(Others... others) { f(type, others...); }, rest...);
  });
}

/// How kernels walk over tensors of one shape: dense ones are one long row.
struct MapShape {
  int64_t rows, width;
  bool wide;
};
/// Throws: Error when a tensor has another shape than y or is not on the device.
template <class... X>
MapShape map_shape(const char* name, const Tensor& y, const X&... x) {
  const auto check = [&](const Tensor& each) {
    ZT_CHECK(y.rows() == each.rows() && y.row_size() == each.row_size(), name, ": y is ", y.shape_text(),
             ", an operand is ", each.shape_text());
    check_device(name, "an operand", each);
  };
  check_device(name, "y", y);
  (check(x), ...);
  const auto starts = [](const Tensor& each) { return reinterpret_cast<uintptr_t>(each.raw()) % 16 == 0; };
  if ((y.dense() && ... && x.dense()))
    return {std::min<int64_t>(y.size(), 1), y.size(), (starts(y) && ... && starts(x))};
  return {y.rows(), y.row_size(), on_vectors(y, x...)};
}

/// y = f(x...) over tensors of one shape, each of any type.
template <class F, class... X>
void map(const char* name, cudaStream_t stream, const F& f, const Tensor& y, const X&... x) {
  const MapShape shape = map_shape(name, y, x...);
  dispatch_all(
      [&]<class Y, class... T>(Y, T...) {
        run_map<kMapWidth<Y, T...>>(name, stream, shape.rows, shape.width, shape.wide, f, rows_of<Y>(y),
                                    rows_of<const T>(x)...);
      },
      y, x...);
}
/// The same where all are f32, as the caller has checked.
template <class F, class... X>
void map_wide(const char* name, cudaStream_t stream, const F& f, const Tensor& y, const X&... x) {
  const MapShape shape = map_shape(name, y, x...);
  run_map<4>(name, stream, shape.rows, shape.width, shape.wide, f, rows_of<float>(y),
             rows_of<const float>(x)...);
}

}  // namespace zoetrope::cuda
