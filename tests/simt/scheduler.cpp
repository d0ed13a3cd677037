#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <numeric>
#include <utility>

#include "tests/simt/machine.h"
#include "tests/simt/sanitizer.h"
#if defined(__BMI2__)
#include <immintrin.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace simt {

Machine machine;

namespace {

// Kernel start and exit are separate objects: one alone would order each thread after those that ended before
// it.
char start_order, exit_order;
std::mutex one_kernel;
std::atomic<uint64_t> seed_of_launches{0};

/// Yields after which nothing has changed, so that nothing will; a switch costs 30 times as much under
/// ThreadSanitizer.
constexpr uint64_t kLivelockYields = sanitizer::kThread ? 20'000 : 200'000;

int nth_bit(uint32_t bits, uint32_t n) {
#if defined(__BMI2__)
  return std::countr_zero(_pdep_u32(1u << n, bits));
#else
  for (; n > 0; --n) bits &= bits - 1;
  return std::countr_zero(bits);
#endif
}

/// splitmix64.
uint64_t next_random() {
  uint64_t z = machine.random += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// One of the set bits, by 32 random bits.
int random_bit(uint32_t bits, uint32_t random) {
  return nth_bit(bits, uint32_t(uint64_t(random) * uint32_t(std::popcount(bits)) >> 32));
}

/// `preferred` of `all`, or all when that leaves none.
uint32_t prefer(uint32_t all, uint32_t preferred) { return (all & preferred) != 0 ? all & preferred : all; }

/// A ready thread, of the preferred warps and lanes if there is one.
Thread* random_thread(uint32_t warps, uint32_t lanes) {
  const uint64_t random = next_random();
  const int warp = random_bit(prefer(machine.ready_warps, warps), uint32_t(random));
  const int lane = random_bit(prefer(machine.warps[warp].ready, lanes), uint32_t(random >> 32));
  return &machine.threads[warp * kLanes + lane];
}

/// The thread that runs next, or null when none can. In a random order some warps and lanes lag as far behind
/// the others as barriers let them.
Thread* next_thread() {
  Machine& m = machine;
  if (m.ready_warps == 0) return nullptr;
  const int mine = m.current == nullptr ? 0 : m.current->warp();
  if (m.seed != 0) return random_thread(m.random_order.fast_warps, m.random_order.fast_lanes);
  // This warp as long as it can run, then the next ones in turn.
  const int warp = std::countr_zero(prefer(m.ready_warps, ~((1u << mine) - 1)));
  return &m.threads[warp * kLanes + std::countr_zero(m.warps[warp].ready)];
}

/// Loops that wait must give all others their turn: any ready thread, or in order the next one in a circle.
Thread* thread_after(const Thread& thread) {
  if (machine.seed != 0) return random_thread(~0u, ~0u);
  for (int step = 1; step < machine.num_threads; ++step) {
    Thread& other = machine.threads[(thread.index + step) % machine.num_threads];
    if (other.state == State::kReady) return &other;
  }
  return &machine.threads[thread.index];
}

/// Each block has an order of its own kind: all alike, or a random half of the warps, or of the lanes, slow.
void draw_order() {
  const auto half = [] { return draw(2) == 0 ? ~0u : draw(0xffffffffu); };
  machine.random_order = {half(), half()};
}

void leave_ready(const Thread& thread) {
  uint32_t& ready = machine.warps[thread.warp()].ready;
  ready &= ~(1u << thread.lane());
  if (ready == 0) machine.ready_warps &= ~(1u << thread.warp());
}

void switch_to(Context& from, Thread& to, void** fake_stack) {
  machine.current = &to;
  threadIdx = to.position;
  ++machine.stats.switches;
  sanitizer::before_switch(fake_stack, machine.stacks.bottom(to.index), Stacks::bytes());
  sanitizer::switch_fiber(to.tsan_fiber);
  switch_context(from, to.context);
}

void go_to(Thread& to) {
  Thread& from = *machine.current;
  if (&to == &from) return;
  void* fake_stack = nullptr;
  switch_to(from.context, to, &fake_stack);
  sanitizer::after_switch(fake_stack, nullptr, nullptr);
}

/// Leaves a thread for ever: null as the place for its fake stack frees it.
[[noreturn]] void go_to_host() {
  Thread& from = *machine.current;
  sanitizer::before_switch(nullptr, machine.host_stack, machine.host_stack_bytes);
  sanitizer::switch_fiber(machine.host_fiber);
  switch_context(from.context, machine.host);
  __builtin_unreachable();
}

[[noreturn]] void fail_deadlock() {
  fail(machine.current->site, [] { return "deadlock: no thread of the block can go on.\n" + census(); });
}

[[noreturn]] void exit_thread() {
  Thread& thread = *machine.current;
  check_exit_of_copies(thread);
  check_exit_of_products(thread);
  check_exit_in_warp(thread);
  check_exit_at_barriers(thread);
  sanitizer::release(&exit_order);
  thread.state = State::kExited;
  leave_ready(thread);
  machine.warps[thread.warp()].exited |= 1u << thread.lane();
  ++machine.num_exited;
  machine.yields_without_progress = 0;
  Thread* next = next_thread();
  if (next != nullptr) switch_to(thread.context, *next, nullptr);
  else if (machine.num_exited == machine.num_threads) go_to_host();
  else fail_deadlock();
  __builtin_unreachable();
}

void thread_entry() {
  const void* old_stack = nullptr;
  size_t old_bytes = 0;
  sanitizer::after_switch(nullptr, &old_stack, &old_bytes);
  if (machine.host_stack == nullptr) machine.host_stack = old_stack, machine.host_stack_bytes = old_bytes;
  sanitizer::acquire(&start_order);
  try {
    (*machine.body)();
  } catch (...) { machine.exception = std::current_exception(); }
  if (machine.exception) machine.failed = true, go_to_host();
  exit_thread();
}

void prepare_threads() {
  Machine& m = machine;
  const dim3 size = m.shape->block;
  for (Warp& warp : m.warps) warp.present = warp.ready = warp.exited = 0;
  for (int i = 0; i < m.num_threads; ++i) {
    Thread& thread = m.threads[i];
    const uint32_t linear = uint32_t(i);
    thread.index = i;
    thread.position = {linear % size.x, linear / size.x % size.y, linear / size.x / size.y};
    thread.state = State::kReady;
    thread.operation = "";
    thread.copies.clear();
    thread.copy_groups = 0;
    if (thread.tsan_fiber == nullptr) thread.tsan_fiber = sanitizer::create_fiber();
    // An exit leaves the frames of thread_entry and exit_thread as they are.
    constexpr size_t kLeftBehind = 8192;
    sanitizer::unpoison(static_cast<char*>(m.stacks.top(i)) - kLeftBehind, kLeftBehind);
    make_context(thread.context, m.stacks.bottom(i), m.stacks.top(i), thread_entry);
    Warp& warp = m.warps[thread.warp()];
    warp.present |= 1u << thread.lane();
    warp.ready = warp.present;
  }
  const int warps = (m.num_threads + kLanes - 1) / kLanes;
  m.ready_warps = warps == kMostWarps ? ~0u : (1u << warps) - 1;
  m.num_exited = 0;
  m.yields_without_progress = 0;
}

/// The threads of a failed kernel stay where they are: their stacks are used again from the top.
void abandon_threads() {
  for (int i = 0; i < machine.num_threads; ++i) {
    Thread& thread = machine.threads[i];
    thread.copies.clear();
    sanitizer::unpoison(machine.stacks.bottom(i), Stacks::bytes());
    if (thread.tsan_fiber == nullptr) continue;
    sanitizer::switch_fiber(thread.tsan_fiber);
    sanitizer::release(&exit_order);
    sanitizer::switch_fiber(machine.host_fiber);
    sanitizer::destroy_fiber(std::exchange(thread.tsan_fiber, nullptr));
  }
  sanitizer::acquire(&exit_order);
}

void run_block(uint64_t number) {
  Machine& m = machine;
  const dim3 grid = m.shape->grid;
  blockIdx = {unsigned(number % grid.x), unsigned(number / grid.x % grid.y),
              unsigned(number / grid.x / grid.y)};
  start_shared(m.shape->dynamic_shared_bytes);
  reset_barriers();
  reset_warps();
  reset_tile_copies();
  reset_group_products();
  prepare_threads();
  if (m.seed != 0) draw_order();
  m.current = nullptr;
  m.host_stack = nullptr;
  m.host_fiber = sanitizer::this_fiber();
  sanitizer::release(&start_order);
  switch_to(m.host, *next_thread(), &m.host_fake_stack);
  sanitizer::after_switch(m.host_fake_stack, nullptr, nullptr);
  sanitizer::acquire(&exit_order);
  ++m.stats.blocks;
  m.stats.threads += uint64_t(m.num_threads);
  if (m.failed) return;
  finish_shared();
  finish_tile_copies();
  finish_group_products();
}

/// All blocks, in order or drawn from the seed.
void run_blocks() {
  const dim3 grid = machine.shape->grid;
  const uint64_t count = uint64_t(grid.x) * grid.y * grid.z;
  std::vector<uint64_t> order;
  if (machine.seed != 0) {
    order.resize(count);
    std::iota(order.begin(), order.end(), uint64_t(0));
    for (uint64_t i = count; i > 1; --i) std::swap(order[i - 1], order[draw(uint32_t(i))]);
  }
  for (uint64_t i = 0; i < count && !machine.failed; ++i) run_block(order.empty() ? i : order[i]);
}

}  // namespace

uint32_t draw(uint32_t bound) { return uint32_t((next_random() >> 32) * bound >> 32); }

void make_ready(int warp, uint32_t lanes) {
  if (lanes == 0) return;
  machine.warps[warp].ready |= lanes;
  machine.ready_warps |= 1u << warp;
  for (; lanes != 0; lanes &= lanes - 1)
    machine.threads[warp * kLanes + std::countr_zero(lanes)].state = State::kReady;
  machine.yields_without_progress = 0;
}

void wait_here(const char* operation, Site site) {
  Thread& thread = *machine.current;
  thread.state = State::kWaiting;
  thread.operation = operation;
  thread.site = site;
  leave_ready(thread);
  Thread* next = next_thread();
  if (next == nullptr) fail_deadlock();
  go_to(*next);
}

void switch_point() {
  if (machine.seed != 0 && draw(2) == 0) go_to(*next_thread());
}

void yield(Site site) {
  Thread& thread = *machine.current;
  thread.operation = "a loop that waits";
  thread.site = site;
  if (++machine.yields_without_progress > kLivelockYields)
    fail(site, [] {
      return "livelock: threads have looped " + std::to_string(kLivelockYields) +
             " times, and nothing that they could wait for has happened.\n" + census();
    });
  go_to(*thread_after(thread));
}

void fail_with(Site site, const std::function<std::string()>& what) {
  machine.failure = text(*machine.current) + ", " + text(site) + ": " + what();
  machine.failed = true;
  go_to_host();
}

void trap(Site site) {
  fail(site, [] { return "__trap()"; });
}

void run(const LaunchShape& shape, const std::function<void()>& thread_body, uint64_t seed) {
  check_launch(shape);
  const std::lock_guard lock(one_kernel);
  Machine& m = machine;
  m.shape = &shape;
  m.body = &thread_body;
  m.seed = m.random = seed;
  m.num_threads = int(shape.block.x * shape.block.y * shape.block.z);
  m.failed = false;
  m.exception = nullptr;
  gridDim = shape.grid;
  blockDim = shape.block;
  m.stacks.reserve(m.num_threads);
  ++m.stats.launches;
  m.in_kernel = true;
  run_blocks();
  m.in_kernel = false;
  if (!m.failed) return;
  abandon_threads();
  if (m.exception) std::rethrow_exception(std::exchange(m.exception, nullptr));
  throw Error(std::exchange(m.failure, {}));
}

std::string running_thread() {
  return machine.in_kernel && machine.current != nullptr ? text(*machine.current) : "";
}
const Stats& stats() { return machine.stats; }
void reset_stats() { machine.stats = {}; }
uint64_t order_seed() { return seed_of_launches; }
void set_order_seed(uint64_t seed) { seed_of_launches = seed; }

}  // namespace simt
