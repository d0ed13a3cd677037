// A row that the threads of a block hold in registers: every thread owns kOwn elements, in packs of kN.
#pragma once

#include "model/ops/cuda/vector.cuh"

namespace zoetrope::cuda {

/// Threads of a block at most, so a row has at most this many times kOwn elements. Single elements take more
/// registers for their places than packs do.
template <int kN>
inline constexpr int kMaxRowThreads = kN >= 4 ? 1024 : 640;

/// The widest row that a block holds; kernels for wider ones go over the row again and again.
template <int kN, int kOwn>
inline constexpr int64_t kMostHeld = kOwn* kMaxRowThreads<kN>;
inline constexpr int kWideThreads = 512;

template <int kN, int kOwn>
struct RowPacks {
  static constexpr int kPacks = kOwn / kN;
  Pack<kN> packs[kPacks];

  __device__ Pack<kN>& operator[](int k) { return packs[k]; }
  __device__ const Pack<kN>& operator[](int k) const { return packs[k]; }
  __device__ float element(int e) const { return packs[e / kN][e % kN]; }

  /// Where the thread's k-th pack starts.
  __device__ static int column(int k) { return (k * int(blockDim.x) + int(threadIdx.x)) * kN; }
  /// Calls f(k, c, n) for each of the thread's packs: elements [c, c + kN) of the row, of which n exist.
  template <class F>
  __device__ static void for_each(int width, const F& f) {
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int c = column(k);
      if (c < width) f(k, c, width - c);
    }
  }
};

/// Running sums of the elements that a thread owns, in shared memory: four in a piece, so that the pieces of
/// neighbouring threads are neighbours. No other thread sees them, so no barrier is needed.
template <int kOwn>
class OwnSums {
 public:
  static constexpr int kBytesPerThread = kOwn * int(sizeof(float));

  /// `memory` holds kBytesPerThread for each thread of the block.
  __device__ explicit OwnSums(float* memory) : mine_(memory + 4 * threadIdx.x) {}

  __device__ void clear() const {
#pragma unroll
    for (int piece = 0; piece < kOwn / 4; ++piece) store(at(piece), Pack<4>{}, 4);
  }
  /// The sums grow by f(e), e in [0, kOwn).
  template <class F>
  __device__ void add(const F& f) const {
#pragma unroll
    for (int piece = 0; piece < kOwn / 4; ++piece) {
      auto sums = load<4>(at(piece), 4);
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[j] += f(4 * piece + j);
      store(at(piece), sums, 4);
    }
  }
  /// The sums of elements [kN k, kN k + kN).
  template <int kN>
  __device__ Pack<kN> pack(int k) const {
    Pack<kN> sums;
#pragma unroll
    for (int j = 0; j < kN; ++j) sums[j] = at((kN * k + j) / 4)[(kN * k + j) % 4];
    return sums;
  }

 private:
  __device__ float* at(int piece) const { return mine_ + 4 * piece * blockDim.x; }

  float* mine_;
};

}  // namespace zoetrope::cuda
