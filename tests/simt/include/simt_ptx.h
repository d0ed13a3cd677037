// What model/ops/cuda/ptx.cuh offers, for kernels that are compiled for the CPU: same names and operands.
#pragma once

#include <simt_device.h>
#include <bit>
#include <cmath>
#include <limits>

#include "core/dtype.h"

namespace simt {

/// `values`: one register for each of `matrices` matrices.
void load_matrices(int matrices, bool transposed, uint32_t* values, uint32_t address, Site site);
void multiply_matrices(float* d, const uint32_t* a, const uint32_t* b, Site site);
void copy_async(uint32_t to, const void* from, int bytes, Site site);
void commit_copies();
void wait_copies(int pending, Site site);

}  // namespace simt

namespace zoetrope::cuda {

inline uint32_t shared_address(const void* pointer, simt::Site site = simt::Site::here()) {
  return simt::shared_offset(pointer, site);
}

inline uint32_t opaque(uint32_t value) { return value; }

inline void ldmatrix_x1(uint32_t& value, uint32_t address, simt::Site site = simt::Site::here()) {
  simt::load_matrices(1, false, &value, address, site);
}
inline void ldmatrix_x1_trans(uint32_t& value, uint32_t address, simt::Site site = simt::Site::here()) {
  simt::load_matrices(1, true, &value, address, site);
}
inline void ldmatrix_x2(uint32_t (&values)[2], uint32_t address, simt::Site site = simt::Site::here()) {
  simt::load_matrices(2, false, values, address, site);
}
inline void ldmatrix_x2_trans(uint32_t (&values)[2], uint32_t address, simt::Site site = simt::Site::here()) {
  simt::load_matrices(2, true, values, address, site);
}
inline void ldmatrix_x4(uint32_t (&values)[4], uint32_t address, simt::Site site = simt::Site::here()) {
  simt::load_matrices(4, false, values, address, site);
}
inline void ldmatrix_x4_trans(uint32_t (&values)[4], uint32_t address, simt::Site site = simt::Site::here()) {
  simt::load_matrices(4, true, values, address, site);
}

inline void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                         simt::Site site = simt::Site::here()) {
  const uint32_t b[2] = {b0, b1};
  simt::multiply_matrices(d, a, b, site);
}

inline void cp_async_16_partial(uint32_t to, const void* from, int bytes,
                                simt::Site site = simt::Site::here()) {
  simt::copy_async(to, from, bytes, site);
}
inline void cp_async_16(uint32_t to, const void* from, bool valid = true,
                        simt::Site site = simt::Site::here()) {
  simt::copy_async(to, from, valid ? 16 : 0, site);
}
inline void cp_async_commit() { simt::commit_copies(); }
template <int kPending>
void cp_async_wait(simt::Site site = simt::Site::here()) {
  static_assert(kPending >= 0);
  simt::wait_copies(kPending, site);
}

inline void barrier_sync(int id, int threads, simt::Site site = simt::Site::here()) {
  simt::sync_named(id, threads, site);
}
inline void barrier_arrive(int id, int threads, simt::Site site = simt::Site::here()) {
  simt::arrive_named(id, threads, site);
}

inline float exp2_approx(float x) {
  const float y = exp2f(x);
  return y < std::numeric_limits<float>::min() ? 0.0f : y;
}
inline uint32_t pack_bf16(float low, float high) {
  return uint32_t(zoetrope::bf16(high).bits) << 16 | zoetrope::bf16(low).bits;
}

}  // namespace zoetrope::cuda
