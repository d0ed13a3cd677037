// Instructions that CUDA C++ has no function for: matrix loads and products on tensor cores, asynchronous
// copies, named barriers. Device bodies are below; tests on the CPU (ZT_SIMT) take those of simt_ptx.h, same
// signatures. All except the named barriers' thread counts are warp-wide: the 32 lanes come together. Source:
// PTX ISA 9.0, sections 9.7.9.25 (cp.async), 9.7.14 (mma, ldmatrix), 9.7.13 (bar).
#pragma once

#include <cuda_runtime.h>
#include <cstdint>

#if defined(ZT_SIMT)
#include <simt_ptx.h>
#else

namespace zoetrope::cuda {

/// A pointer to shared memory as the address that the functions below take.
__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return uint32_t(__cvta_generic_to_shared(pointer));
}

/// The same value, which the compiler takes for a new one: what follows from it in a loop is computed there,
/// and holds no registers across the loop.
__device__ __forceinline__ uint32_t opaque(uint32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// Loads 1, 2 or 4 matrices of 8 rows of 8 bf16; lane 8 i + r holds the 16-byte aligned address of row r of
/// matrix i. Lane l gets of each the two elements of row l / 4 that start at column 2 (l % 4); `trans`
/// transposes first.
__device__ __forceinline__ void ldmatrix_x1(uint32_t& value, uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(value)
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x1_trans(uint32_t& value, uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(value)
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x2(uint32_t (&values)[2], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(values[0]), "=r"(values[1])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x2_trans(uint32_t (&values)[2], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(values[0]), "=r"(values[1])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&values)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&values)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(address)
               : "memory");
}

/// d += A B in f32 for A 16x16 and B 16x8 of bf16. With g = lane / 4 and t = lane % 4, the lane holds of
/// A: a[0] row g, a[1] row g + 8, at columns 2t, 2t + 1; a[2], a[3] the same rows 8 columns on;
/// B: b0 rows 2t, 2t + 1, b1 rows 8 more, of column g; d: row g (d[0], d[1]) and g + 8, columns 2t, 2t + 1.
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                             uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Starts to copy the first `bytes` of 16 bytes to shared memory and zeros after them; both places are
/// aligned to 16, and with 0 bytes nothing is read.
__device__ __forceinline__ void cp_async_16_partial(uint32_t to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
/// Starts to copy 16 bytes, or zeros when not valid.
__device__ __forceinline__ void cp_async_16(uint32_t to, const void* from, bool valid = true) {
  cp_async_16_partial(to, from, valid ? 16 : 0);
}
/// Ends the group of copies that the thread has started since its last commit.
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most the thread's last kPending groups are under way. Others see the bytes after a barrier.
template <int kPending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Barrier 0 to 15 of `threads` threads, a multiple of 32; __syncthreads() is number 0.
__device__ __forceinline__ void barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/// Counts at a barrier without waiting there.
__device__ __forceinline__ void barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// 2^x to 2^-22 relative error; subnormal results are 0.
__device__ __forceinline__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// Two values rounded to bf16, the first in the low half.
__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

}  // namespace zoetrope::cuda
#endif
