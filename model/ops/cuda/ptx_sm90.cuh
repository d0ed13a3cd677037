// Instructions of sm_90a: barriers in shared memory, copies of tiles by the tensor memory accelerator, and
// what surrounds warpgroup products (wgmma.cuh). Device bodies are below; tests on the CPU (ZT_SIMT) take
// those of simt_ptx_sm90.h, same signatures. Source: PTX ISA 9.0, sections on mbarrier, cp.async.bulk.tensor,
// wgmma and setmaxnreg.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdint>

#include "model/ops/cuda/ptx.cuh"
#if defined(ZT_SIMT)
#include <simt_ptx_sm90.h>
#endif

namespace zoetrope::cuda {

/// Where an operand of a warpgroup product lies: rows of 128 bytes, swizzled as the accelerator's 128-byte
/// mode does, the whole on a multiple of 1024 bytes. Steps of 16 along k move `address` by 32 bytes where
/// rows run along k, by 2048 (16 rows) where they run across it; there `block_bytes` leads from 64 columns to
/// the next 64.
__device__ __forceinline__ uint64_t swizzled_operand(uint32_t address, uint32_t block_bytes = 16) {
  constexpr uint64_t kGroupBytes = 1024, kSwizzle128 = 1;
  return uint64_t(address >> 4 & 0x3fff) | uint64_t(block_bytes >> 4 & 0x3fff) << 16 |
         (kGroupBytes >> 4) << 32 | kSwizzle128 << 62;
}

#if !defined(ZT_SIMT)

/// Makes a barrier of 8 bytes in shared memory, aligned to 8, whose phases end with `arrivals` arrivals and
/// all bytes.
__device__ __forceinline__ void mbarrier_init(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes the barriers that this thread has made visible to the accelerator; a barrier of the block must
/// follow.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// Counts one arrival.
__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Counts one arrival, and `bytes` that copies still have to bring before the phase ends.
__device__ __forceinline__ void mbarrier_arrive_expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Waits for the end of a phase: parity 0 for the first, 1 for the second, and so on in turn.
__device__ __forceinline__ void mbarrier_wait(uint32_t barrier, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// Starts to copy the map's box whose first element is at (row, column) to shared memory, on a multiple of
/// 1024 bytes, as the map swizzles it; outside of the matrix are zeros. Its bytes count at the barrier. One
/// thread calls it.
__device__ __forceinline__ void copy_tile(uint32_t to, const CUtensorMap* map, int row, int column,
                                          uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];" ::"r"(to),
      "l"(map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

/// Before products read what threads wrote to shared memory by ordinary stores.
__device__ __forceinline__ void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Before the first product after its registers (sums, or A) were touched.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Ends the group of products that the warp has started since its last commit.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most the last kPending groups are under way; sums and operands of the others may be touched
/// again.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// Registers for each thread of the warpgroup from now on: a multiple of 8 from 24 to 256. All its warps call
/// it.
template <int kRegisters>
__device__ __forceinline__ void raise_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void lower_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

#endif

}  // namespace zoetrope::cuda
