// Inside of the emulator: the threads of the block that runs, where each stands, and the switch between them.
#pragma once

#include <array>
#include <exception>
#include <string>
#include <vector>

#include "tests/simt/fiber.h"
#include "tests/simt/include/simt_device.h"
#include "tests/simt/simt.h"

namespace simt {

inline constexpr int kLanes = 32, kMostThreads = 1024, kMostWarps = kMostThreads / kLanes, kBarriers = 16;

enum class State : uint8_t { kReady, kWaiting, kExited };

/// A cp.async whose bytes have not arrived: they do at the wait that covers its group.
struct AsyncCopy {
  void* to;
  const void* from;
  uint32_t bytes;  // of the 16; zeros follow
  uint64_t group;
  void* caller;
  Site site;
};

struct Thread {
  Context context;
  int index = 0;
  uint3 position{};
  State state = State::kExited;
  const char* operation = "";  // that it waits at
  Site site;
  std::vector<AsyncCopy> copies;
  uint64_t copy_groups = 0;  // committed
  void* tsan_fiber = nullptr;
  int warp() const { return index / kLanes; }
  int lane() const { return index % kLanes; }
};

/// What a warp operation does once all its lanes are there: arguments[lane] is what each brought.
struct WarpCall;
struct Operation {
  const char* name;
  void (*complete)(const WarpCall& call);
};
struct WarpCall {
  const Operation* operation = nullptr;
  uint32_t mask = 0, arrived = 0;
  Site site;
  std::array<void*, kLanes> arguments{};
};

struct Warp {
  uint32_t present = 0, ready = 0, exited = 0;
  int num_calls = 0;
  std::array<WarpCall, kLanes> calls;  // masks of pending calls do not overlap
};

struct Barrier {
  const char* operation = "";
  Site site;
  int expected = 0, arrived = 0;
  Predicate predicate = Predicate::kNone;
  int num_true = 0, last_true = 0;
  uint64_t phase = 0;
  std::array<uint32_t, kMostWarps> waiting{};
};

struct Machine {
  const LaunchShape* shape = nullptr;
  const std::function<void()>* body = nullptr;
  uint64_t seed = 0, random = 0;
  std::vector<Thread> threads = std::vector<Thread>(kMostThreads);
  std::array<Warp, kMostWarps> warps;
  std::array<Barrier, kBarriers> barriers;
  uint32_t ready_warps = 0;
  struct {
    uint32_t fast_warps, fast_lanes;
  } random_order{};
  int num_threads = 0, num_exited = 0;
  Thread* current = nullptr;
  uint64_t yields_without_progress = 0;
  Context host;
  void *host_fiber = nullptr, *host_fake_stack = nullptr;
  const void* host_stack = nullptr;
  size_t host_stack_bytes = 0;
  bool failed = false, in_kernel = false;
  std::string failure;
  std::exception_ptr exception;
  Stacks stacks;
  Stats stats;
};
extern Machine machine;

// --- scheduler.cpp ------------------------------------------------------------------------------------
/// Runs other threads until somebody calls make_ready for this one.
void wait_here(const char* operation, Site site);
void make_ready(int warp, uint32_t lanes);
/// Ends the kernel with an error about the running thread. `what` makes the text, so that no string stays
/// behind on a stack that nobody returns to.
[[noreturn]] void fail_with(Site site, const std::function<std::string()>& what);
template <class Text>
[[noreturn]] void fail(Site site, Text what) {
  fail_with(site, std::ref(what));
}
/// Below `bound`, from the launch's seed.
uint32_t draw(uint32_t bound);

// --- barriers.cpp, warp.cpp, shared.cpp, async_copy.cpp: what a block starts with, and an exit must satisfy
// -------
void reset_barriers();
void reset_warps();
void check_exit_at_barriers(const Thread& thread);
void check_exit_in_warp(const Thread& thread);
void check_exit_of_copies(const Thread& thread);
void reset_tile_copies();
void reset_group_products();
void check_exit_of_products(const Thread& thread);
/// After a block: all tiles have arrived, all warps of a warpgroup made as many products.
void finish_tile_copies();
void finish_group_products();
/// Fills the shared memory of a block with NaN and guards its end; the second looks at the guard.
void start_shared(size_t bytes);
void finish_shared();
/// The bytes at an offset of the shared window. Throws: Error unless all are there and aligned.
void* shared_pointer(uint32_t offset, size_t bytes, const char* operation, Site site);
/// Brings the lanes of `mask` together at an operation.
void meet(const Operation& operation, unsigned mask, void* arguments, Site site);

// --- report.cpp ---------------------------------------------------------------------------------------
bool same(Site a, Site b);
std::string text(Site site);
std::string text(const Thread& thread);
std::string text(uint3 position);
/// "lanes 0-3, 7".
std::string lanes_text(uint32_t lanes);
/// Where all threads of the block stand.
std::string census();
/// Throws: Error when no device would take the launch.
void check_launch(const LaunchShape& shape);

}  // namespace simt
