// What model/ops/cuda/ptx_sm90.cuh and wgmma.cuh offer, for kernels that are compiled for the CPU: same names
// and operands.
#pragma once

#include <cuda.h>
#include <simt_device.h>

namespace simt {

void init_mbarrier(uint32_t barrier, int arrivals, Site site);
/// Counts `arrivals` arrivals (0 or 1) and bytes to come.
void arrive_mbarrier(uint32_t barrier, int bytes, Site site);
void wait_mbarrier(uint32_t barrier, int parity, Site site);
void copy_tile(uint32_t to, const CUtensorMap* map, int row, int column, uint32_t barrier, Site site);

/// A 16 x `columns` part of a warpgroup's product; `a` is null when A lies in shared memory.
struct GroupProduct {
  int columns;
  bool transposed_b, accumulate;
  float* d;
  const uint32_t* a;
  uint64_t a_place, b_place;
};
void start_group_product(GroupProduct product, Site site);
void fence_group_products(Site site);
void commit_group_products(Site site);
void wait_group_products(int pending, Site site);

}  // namespace simt

namespace zoetrope::cuda {

inline void mbarrier_init(uint32_t barrier, int arrivals, simt::Site site = simt::Site::here()) {
  simt::init_mbarrier(barrier, arrivals, site);
}
inline void fence_mbarrier_init() {}
inline void mbarrier_arrive(uint32_t barrier, simt::Site site = simt::Site::here()) {
  simt::arrive_mbarrier(barrier, 0, site);
}
inline void mbarrier_arrive_expect(uint32_t barrier, int bytes, simt::Site site = simt::Site::here()) {
  simt::arrive_mbarrier(barrier, bytes, site);
}
inline void mbarrier_wait(uint32_t barrier, int parity, simt::Site site = simt::Site::here()) {
  simt::wait_mbarrier(barrier, parity, site);
}
inline void copy_tile(uint32_t to, const CUtensorMap* map, int row, int column, uint32_t barrier,
                      simt::Site site = simt::Site::here()) {
  simt::copy_tile(to, map, row, column, barrier, site);
}

inline void fence_async_proxy() { simt::switch_point(); }
inline void wgmma_fence(simt::Site site = simt::Site::here()) { simt::fence_group_products(site); }
inline void wgmma_commit(simt::Site site = simt::Site::here()) { simt::commit_group_products(site); }
template <int kPending>
void wgmma_wait(simt::Site site = simt::Site::here()) {
  static_assert(kPending >= 0 && kPending < 8);
  simt::wait_group_products(kPending, site);
}
template <int kRegisters>
void raise_registers() {
  static_assert(kRegisters % 8 == 0 && kRegisters >= 24 && kRegisters <= 256);
}
template <int kRegisters>
void lower_registers() {
  static_assert(kRegisters % 8 == 0 && kRegisters >= 24 && kRegisters <= 256);
}

template <class Registers>
void hold(Registers&) {}
template <bool kTransposedB, int kSums>
void wgmma_m64k16(float (&d)[kSums], uint64_t a, uint64_t b, bool accumulate,
                  simt::Site site = simt::Site::here()) {
  static_assert(kSums == 32 || kSums == 64);
  simt::start_group_product({2 * kSums, kTransposedB, accumulate, d, nullptr, a, b}, site);
}
template <bool kTransposedB, int kSums>
void wgmma_m64k16(float (&d)[kSums], const uint32_t (&a)[4], uint64_t b, bool accumulate,
                  simt::Site site = simt::Site::here()) {
  static_assert(kSums == 32 || kSums == 64);
  simt::start_group_product({2 * kSums, kTransposedB, accumulate, d, a, 0, b}, site);
}

}  // namespace zoetrope::cuda
