// Products of a warpgroup (four warps, the first one's number a multiple of 4) on the tensor cores of sm_90a:
// d (64 x N, f32) = A (64 x 16) B (16 x N) of bf16, plus d when `accumulate`. They run on while the warps do,
// in order: no sum may be read, no operand written, before wgmma_wait. All four warps call each with the same
// operands. Layouts: warp w of four holds rows 16 w to 16 w + 15 of d and of A in registers, each as
// mma_m16n8k16 does; d[4 j] to d[4 j + 3] are columns 8 j to 8 j + 7. Source: PTX ISA 9.0, section on
// wgmma.mma_async.
#pragma once

#include "model/ops/cuda/ptx_sm90.cuh"

#if !defined(ZT_SIMT)

#define ZT_REGISTERS_32                                                    \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define ZT_REGISTERS_64                                                              \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define ZT_SUMS_8(d, i)                                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define ZT_SUMS_32(d, i) ZT_SUMS_8(d, i), ZT_SUMS_8(d, i + 8), ZT_SUMS_8(d, i + 16), ZT_SUMS_8(d, i + 24)

namespace zoetrope::cuda {

/// Sums are all written here and read no sooner: keeps what the compiler would move over a start of products
/// or a wait, which name no registers, on its side.
template <int kCount>
__device__ __forceinline__ void hold(float (&registers)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(registers[i]));
}
/// The same for A.
template <int kSteps>
__device__ __forceinline__ void hold(uint32_t (&registers)[kSteps][4]) {
#pragma unroll
  for (int i = 0; i < 4 * kSteps; ++i) asm volatile("" : "+r"(registers[i / 4][i % 4]));
}

/// `a`, `b`: as swizzled_operand describes; rows of A along k; B stored as N rows along k, or with
/// kTransposedB as 16 rows (of k) of N columns.
template <bool kTransposedB>
__device__ __forceinline__ void wgmma_m64k16(float (&d)[32], uint64_t a, uint64_t b, bool accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" ZT_REGISTERS_32
      "}, %32, %33, add, 1, 1, 0, %35;\n"
      "}\n"
      : ZT_SUMS_32(d, 0)
      : "l"(a), "l"(b), "r"(int(accumulate)), "n"(int(kTransposedB)));
}
/// With A in registers.
template <bool kTransposedB>
__device__ __forceinline__ void wgmma_m64k16(float (&d)[32], const uint32_t (&a)[4], uint64_t b,
                                             bool accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" ZT_REGISTERS_32
      "}, {%32, %33, %34, %35}, %36, add, 1, 1, %38;\n"
      "}\n"
      : ZT_SUMS_32(d, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(accumulate)), "n"(int(kTransposedB)));
}
/// The same for N = 128.
template <bool kTransposedB>
__device__ __forceinline__ void wgmma_m64k16(float (&d)[64], uint64_t a, uint64_t b, bool accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" ZT_REGISTERS_64
      "}, %64, %65, add, 1, 1, 0, %67;\n"
      "}\n"
      : ZT_SUMS_32(d, 0), ZT_SUMS_32(d, 32)
      : "l"(a), "l"(b), "r"(int(accumulate)), "n"(int(kTransposedB)));
}
/// With A in registers.
template <bool kTransposedB>
__device__ __forceinline__ void wgmma_m64k16(float (&d)[64], const uint32_t (&a)[4], uint64_t b,
                                             bool accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" ZT_REGISTERS_64
      "}, {%64, %65, %66, %67}, %68, add, 1, 1, %70;\n"
      "}\n"
      : ZT_SUMS_32(d, 0), ZT_SUMS_32(d, 32)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(accumulate)), "n"(int(kTransposedB)));
}

}  // namespace zoetrope::cuda

#undef ZT_REGISTERS_32
#undef ZT_REGISTERS_64
#undef ZT_SUMS_8
#undef ZT_SUMS_32
#endif
