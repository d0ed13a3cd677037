// Executes CUDA kernels thread for thread on the CPU. Every CUDA thread is a fiber, blocks run one after the
// other, and threads change places only where CUDA lets them meet: barriers, warp operations, waits, exits.
// In the order of seed 0 the lowest lane that can run goes on; any other seed draws blocks, warps and lanes.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "tests/simt/include/simt_types.h"

namespace simt {

/// Misuse of CUDA by a kernel or a launch: names kernel, block, thread, warp, lane, operation, file and line.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Dynamic shared memory of a kernel that has not asked for more, and the most that it may ask for (sm_90).
inline constexpr size_t kDefaultSharedBytes = 48 * 1024, kMostSharedBytes = 227 * 1024;

struct LaunchShape {
  dim3 grid, block;
  size_t dynamic_shared_bytes = 0;
  const char* name = "kernel";
  /// What cudaFuncSetAttribute allowed.
  size_t max_dynamic_shared_bytes = kDefaultSharedBytes;
};

/// Runs one kernel to its end; thread_body is called once for each thread. Calls from several host threads
/// take turns. Throws: Error on misuse; what thread_body throws. The kernel then ends as it stands.
void run(const LaunchShape& shape, const std::function<void()>& thread_body, uint64_t seed);

/// The seed of launches that have none of their own: 0, unless set.
uint64_t order_seed();
void set_order_seed(uint64_t seed);

/// "kernel, block (x,y,z), thread ..." of the thread that runs, for signal handlers; empty outside kernels.
std::string running_thread();

/// What kernels have done since the last reset_stats().
struct Stats {
  uint64_t launches = 0, blocks = 0, threads = 0, switches = 0;
  uint64_t block_barriers = 0, warp_operations = 0;
  uint64_t matrix_loads = 0, matrix_products = 0, async_copies = 0;
  uint64_t tile_copies = 0, group_products = 0;
  /// Shared-memory passes of ldmatrix beyond one for each 8x8 matrix: bank conflicts.
  uint64_t extra_wavefronts = 0;
};
const Stats& stats();
void reset_stats();

}  // namespace simt
