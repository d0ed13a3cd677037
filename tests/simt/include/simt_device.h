// What CUDA device code finds built in, for kernels that are compiled for the CPU: qualifiers, positions,
// barriers, fences and shared memory. Warp operations are in simt_warp.h, mathematics in simt_math.h.
// There is no __shared__: static shared memory in templates can't be poisoned (g++ ignores `section` there),
// so kernels take all of it from zoetrope::shared_memory (model/ops/cuda/launch.h).
#pragma once

#include <simt_types.h>
#include <cstddef>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
// Empty: libstdc++ writes __attribute__((__noinline__)).
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) alignas(bytes)

/// Where the running thread is; the emulator sets them at every switch.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace simt {

/// A line of kernel source, for messages.
struct Site {
  const char* file = "";
  int line = 0;

  /// The line of the outermost call that has this as its default argument.
  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// What the threads that meet at a block barrier learn from each other's predicates.
enum class Predicate { kNone, kCount, kAll, kAny };

/// The barrier of all threads of the block. Throws: Error when threads wait at different ones or have exited.
int sync_block(Predicate predicate, int value, Site site);
/// `bar.sync id, threads`, and `bar.arrive`, which does not wait.
void sync_named(int id, int threads, Site site);
void arrive_named(int id, int threads, Site site);
/// Lets other threads run: every loop that waits for memory to change must call it.
void yield(Site site);
/// Ends the kernel with an error, as __trap() does.
[[noreturn]] void trap(Site site);
/// The block's dynamic shared memory. Throws: Error when the launch gave fewer than `bytes`.
void* dynamic_shared(size_t bytes, size_t align, Site site);
/// Position of a pointer in the shared window. Throws: Error when it is no pointer to shared memory.
uint32_t shared_offset(const void* pointer, Site site);
/// A place where a random order may switch to another thread.
void switch_point();

}  // namespace simt

inline void __syncthreads(simt::Site site = simt::Site::here()) {
  simt::sync_block(simt::Predicate::kNone, 0, site);
}
inline int __syncthreads_count(int predicate, simt::Site site = simt::Site::here()) {
  return simt::sync_block(simt::Predicate::kCount, predicate, site);
}
inline int __syncthreads_and(int predicate, simt::Site site = simt::Site::here()) {
  return simt::sync_block(simt::Predicate::kAll, predicate, site);
}
inline int __syncthreads_or(int predicate, simt::Site site = simt::Site::here()) {
  return simt::sync_block(simt::Predicate::kAny, predicate, site);
}
inline void __threadfence() { simt::switch_point(); }
inline void __threadfence_block() { simt::switch_point(); }
inline void __threadfence_system() { simt::switch_point(); }
inline void __nanosleep(unsigned, simt::Site site = simt::Site::here()) { simt::yield(site); }
[[noreturn]] inline void __trap(simt::Site site = simt::Site::here()) { simt::trap(site); }
inline size_t __cvta_generic_to_shared(const void* pointer, simt::Site site = simt::Site::here()) {
  return simt::shared_offset(pointer, site);
}

#include <simt_math.h>
#include <simt_warp.h>
