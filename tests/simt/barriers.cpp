#include "tests/simt/machine.h"
#include "tests/simt/sanitizer.h"

namespace simt {
namespace {

/// Two for each barrier, in turn: a thread that leaves one round late must not see what others did before the
/// next.
char order[kBarriers][2];

const char* name_of(Predicate predicate) {
  switch (predicate) {
    case Predicate::kNone: return "__syncthreads";
    case Predicate::kCount: return "__syncthreads_count";
    case Predicate::kAll: return "__syncthreads_and";
    case Predicate::kAny: return "__syncthreads_or";
  }
  return "";
}

std::string barrier_text(const Barrier& barrier) {
  std::string who;
  for (int warp = 0; warp < kMostWarps; ++warp)
    if (barrier.waiting[warp] != 0)
      who += "\n  warp " + std::to_string(warp) + ": " + lanes_text(barrier.waiting[warp]);
  return std::string(barrier.operation) + " (" + text(barrier.site) + ")" + who;
}

/// The first to come says what the barrier is; the others must agree.
void join(Barrier& barrier, const char* operation, int expected, Predicate predicate, bool same_site,
          Site site) {
  if (barrier.arrived == 0) {
    barrier.operation = operation;
    barrier.site = site;
    barrier.expected = expected;
    barrier.predicate = predicate;
    barrier.num_true = 0;
    return;
  }
  const bool agrees = barrier.expected == expected && barrier.predicate == predicate &&
                      (!same_site || same(barrier.site, site));
  if (!agrees)
    fail(site, [&] {
      return std::string(operation) + " of " + std::to_string(expected) +
             " threads meets a different barrier of " + std::to_string(barrier.expected) +
             ", where others wait: " + barrier_text(barrier);
    });
}

void complete(Barrier& barrier) {
  barrier.last_true = barrier.num_true;
  barrier.arrived = 0;
  ++barrier.phase;
  ++machine.stats.block_barriers;
  for (int warp = 0; warp < kMostWarps; ++warp) {
    make_ready(warp, barrier.waiting[warp]);
    barrier.waiting[warp] = 0;
  }
}

/// Counts the running thread; the last to come wakes the others.
void arrive(int id, int value, bool waits, Site site) {
  Barrier& barrier = machine.barriers[id];
  const Thread& thread = *machine.current;
  char* round = &order[id][barrier.phase % 2];
  sanitizer::release(round);
  barrier.num_true += value != 0;
  if (++barrier.arrived == barrier.expected) {
    complete(barrier);
    if (waits) sanitizer::acquire(round);
    return switch_point();
  }
  if (!waits) return switch_point();
  barrier.waiting[thread.warp()] |= 1u << thread.lane();
  wait_here(barrier.operation, site);
  sanitizer::acquire(round);
}

void check_named(const char* operation, int id, int threads, Site site) {
  if (id < 0 || id >= kBarriers)
    fail(site,
         [=] { return std::string(operation) + " of barrier " + std::to_string(id) + ", ids are 0 to 15"; });
  if (threads <= 0 || threads % kLanes != 0 || threads > machine.num_threads)
    fail(site, [=] {
      return std::string(operation) + " of " + std::to_string(threads) +
             " threads: not a positive multiple of 32 within the block's " +
             std::to_string(machine.num_threads);
    });
}

}  // namespace

int sync_block(Predicate predicate, int value, Site site) {
  Barrier& barrier = machine.barriers[0];
  const char* operation = name_of(predicate);
  if (machine.num_exited > 0)
    fail(site, [=] {
      return std::string(operation) + " waits for all threads of the block, of which some have exited.\n" +
             census();
    });
  join(barrier, operation, machine.num_threads, predicate, true, site);
  arrive(0, value, true, site);
  const int count = barrier.last_true;
  if (predicate == Predicate::kAll) return count == machine.num_threads;
  return predicate == Predicate::kAny ? count > 0 : count;
}

void sync_named(int id, int threads, Site site) {
  check_named("bar.sync", id, threads, site);
  join(machine.barriers[id], "bar.sync", threads, Predicate::kNone, false, site);
  arrive(id, 0, true, site);
}

void arrive_named(int id, int threads, Site site) {
  check_named("bar.arrive", id, threads, site);
  join(machine.barriers[id], "bar.arrive", threads, Predicate::kNone, false, site);
  arrive(id, 0, false, site);
}

void reset_barriers() {
  for (Barrier& barrier : machine.barriers) {
    barrier.arrived = 0;
    barrier.waiting.fill(0);
  }
}

void check_exit_at_barriers(const Thread&) {
  const Barrier& barrier = machine.barriers[0];
  if (barrier.arrived > 0 && barrier.expected == machine.num_threads)
    fail(barrier.site,
         [&] { return "exits while others of the block wait for it at " + barrier_text(barrier); });
}

}  // namespace simt
