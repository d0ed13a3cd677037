#include <bit>
#include <cstdio>

#include "tests/simt/include/simt_warp.h"
#include "tests/simt/machine.h"
#include "tests/simt/sanitizer.h"

namespace simt {
namespace {

/// __syncwarp orders memory, the other operations do not: two objects in turn for each group of lanes, as at
/// barriers.
char order[kMostWarps][kLanes][2];
uint64_t rounds[kMostWarps][kLanes];

struct ShuffleArguments {
  Shuffle kind;
  uint64_t bits, result;
  unsigned operand;
  int width;
};
struct VoteArguments {
  bool predicate;
  unsigned result;
};
struct MatchArguments {
  uint64_t bits;
  unsigned result;
};
struct ReduceArguments {
  Reduce kind;
  bool is_signed;
  unsigned value, result;
};

template <class Arguments>
Arguments& argument(const WarpCall& call, int lane) {
  return *static_cast<Arguments*>(call.arguments[lane]);
}

/// Calls visit(lane) for each lane of the mask.
template <class Visit>
void for_lanes(uint32_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(std::countr_zero(mask));
}

/// The lane that a shuffle reads; out of its segment it reads itself.
int source_lane(const ShuffleArguments& mine, int lane) {
  const int first = lane & ~(mine.width - 1), last = first + mine.width - 1, operand = int(mine.operand);
  switch (mine.kind) {
    case Shuffle::kIndex: return first + (operand & (mine.width - 1));
    case Shuffle::kUp: return lane - operand < first ? lane : lane - operand;
    case Shuffle::kDown: return lane + operand > last ? lane : lane + operand;
    case Shuffle::kXor: return (lane ^ operand) > last ? lane : lane ^ operand;
  }
  return lane;
}

void complete_shuffle(const WarpCall& call) {
  for_lanes(call.mask, [&](int lane) {
    auto& mine = argument<ShuffleArguments>(call, lane);
    const int source = source_lane(mine, lane);
    if ((call.mask >> source & 1) == 0)
      fail(call.site, [&] {
        return "__shfl_sync: lane " + std::to_string(lane) + " reads lane " + std::to_string(source) +
               ", which takes no part: the mask names " + lanes_text(call.mask);
      });
    mine.result = argument<ShuffleArguments>(call, source).bits;
  });
}

unsigned ballot(const WarpCall& call) {
  unsigned set = 0;
  for_lanes(call.mask, [&](int lane) {
    if (argument<VoteArguments>(call, lane).predicate) set |= 1u << lane;
  });
  return set;
}

void complete_ballot(const WarpCall& call) {
  const unsigned set = ballot(call);
  for_lanes(call.mask, [&](int lane) { argument<VoteArguments>(call, lane).result = set; });
}
void complete_all(const WarpCall& call) {
  const bool all = ballot(call) == call.mask;
  for_lanes(call.mask, [&](int lane) { argument<VoteArguments>(call, lane).result = all; });
}
void complete_any(const WarpCall& call) {
  const bool any = ballot(call) != 0;
  for_lanes(call.mask, [&](int lane) { argument<VoteArguments>(call, lane).result = any; });
}
void complete_match(const WarpCall& call) {
  for_lanes(call.mask, [&](int lane) {
    auto& mine = argument<MatchArguments>(call, lane);
    mine.result = 0;
    for_lanes(call.mask, [&](int other) {
      if (argument<MatchArguments>(call, other).bits == mine.bits) mine.result |= 1u << other;
    });
  });
}

unsigned combined(const ReduceArguments& how, unsigned a, unsigned b) {
  const bool less = how.is_signed ? int(a) < int(b) : a < b;
  switch (how.kind) {
    case Reduce::kAdd: return a + b;
    case Reduce::kMin: return less ? a : b;
    case Reduce::kMax: return less ? b : a;
    case Reduce::kAnd: return a & b;
    case Reduce::kOr: return a | b;
    case Reduce::kXor: return a ^ b;
  }
  return 0;
}
void complete_reduce(const WarpCall& call) {
  const auto& first = argument<ReduceArguments>(call, std::countr_zero(call.mask));
  unsigned total = first.value;
  for_lanes(call.mask & (call.mask - 1),
            [&](int lane) { total = combined(first, total, argument<ReduceArguments>(call, lane).value); });
  for_lanes(call.mask, [&](int lane) { argument<ReduceArguments>(call, lane).result = total; });
}
void complete_sync(const WarpCall& call) { ++rounds[machine.current->warp()][std::countr_zero(call.mask)]; }

const Operation kShuffles[] = {{"__shfl_sync", complete_shuffle},
                               {"__shfl_up_sync", complete_shuffle},
                               {"__shfl_down_sync", complete_shuffle},
                               {"__shfl_xor_sync", complete_shuffle}};
const Operation kVotes[] = {
    {"__all_sync", complete_all}, {"__any_sync", complete_any}, {"__ballot_sync", complete_ballot}};
const Operation kMatch = {"__match_any_sync", complete_match};
const Operation kReduces[] = {{"__reduce_add_sync", complete_reduce}, {"__reduce_min_sync", complete_reduce},
                              {"__reduce_max_sync", complete_reduce}, {"__reduce_and_sync", complete_reduce},
                              {"__reduce_or_sync", complete_reduce},  {"__reduce_xor_sync", complete_reduce}};
const Operation kSyncWarp = {"__syncwarp", complete_sync};

std::string mask_text(unsigned mask) {
  char hexadecimal[16];
  snprintf(hexadecimal, sizeof hexadecimal, "0x%08x", mask);
  return hexadecimal;
}

void check_mask(const Operation& operation, const Warp& warp, int lane, unsigned mask, Site site) {
  const char* name = operation.name;
  if ((mask >> lane & 1) == 0)
    fail(site, [=] {
      return std::string(name) + ": the mask " + mask_text(mask) + " leaves out the caller's own lane";
    });
  if ((mask & ~warp.present) != 0)
    fail(site, [&] {
      return std::string(name) + ": the mask " + mask_text(mask) +
             " names lanes that the block does not have: " + lanes_text(mask & ~warp.present);
    });
  if ((mask & warp.exited) != 0)
    fail(site, [&] {
      return std::string(name) + ": the mask " + mask_text(mask) +
             " names lanes that have exited: " + lanes_text(mask & warp.exited);
    });
}

/// The pending call of these lanes, made when they are the first. Throws: Error when lanes wait for the
/// caller at one operation that the caller waits for at another. (Overlap alone is no fault: half a warp may
/// be ahead.)
WarpCall& pending_call(const Operation& operation, Warp& warp, int lane, unsigned mask, Site site) {
  for (int i = 0; i < warp.num_calls; ++i) {
    WarpCall& call = warp.calls[i];
    if (call.mask == mask && call.operation == &operation && same(call.site, site)) return call;
    if ((call.mask >> lane & 1) == 0 || (call.arrived & mask) == 0) continue;
    fail(site, [&] {
      return std::string(operation.name) + " with mask " + mask_text(mask) + " meets " +
             call.operation->name + " with mask " + mask_text(call.mask) + " (" + text(call.site) +
             "), where " + lanes_text(call.arrived) + " of the warp wait";
    });
  }
  WarpCall& call = warp.calls[warp.num_calls++];
  call.operation = &operation;
  call.mask = mask;
  call.arrived = 0;
  call.site = site;
  return call;
}

}  // namespace

void meet(const Operation& operation, unsigned mask, void* arguments, Site site) {
  const Thread& thread = *machine.current;
  Warp& warp = machine.warps[thread.warp()];
  check_mask(operation, warp, thread.lane(), mask, site);
  WarpCall& call = pending_call(operation, warp, thread.lane(), mask, site);
  call.arguments[thread.lane()] = arguments;
  call.arrived |= 1u << thread.lane();
  if (call.arrived != mask) return wait_here(operation.name, site);
  ++machine.stats.warp_operations;
  operation.complete(call);
  if (const WarpCall& last = warp.calls[--warp.num_calls]; &last != &call) call = last;
  make_ready(thread.warp(), mask & ~(1u << thread.lane()));
  switch_point();
}

uint64_t shuffle(Shuffle kind, unsigned mask, uint64_t bits, unsigned operand, int width, Site site) {
  if (width < 1 || width > kLanes || !std::has_single_bit(unsigned(width)))
    fail(site,
         [=] { return "__shfl_sync of width " + std::to_string(width) + ", not a power of two up to 32"; });
  ShuffleArguments arguments{kind, bits, 0, operand, width};
  meet(kShuffles[int(kind)], mask, &arguments, site);
  return arguments.result;
}

unsigned vote(Vote kind, unsigned mask, int predicate, Site site) {
  VoteArguments arguments{predicate != 0, 0};
  meet(kVotes[int(kind)], mask, &arguments, site);
  return arguments.result;
}

unsigned match_any(unsigned mask, uint64_t bits, Site site) {
  MatchArguments arguments{bits, 0};
  meet(kMatch, mask, &arguments, site);
  return arguments.result;
}

unsigned reduce(Reduce kind, bool is_signed, unsigned mask, unsigned value, Site site) {
  ReduceArguments arguments{kind, is_signed, value, 0};
  meet(kReduces[int(kind)], mask, &arguments, site);
  return arguments.result;
}

void sync_warp(unsigned mask, Site site) {
  const int warp = machine.current->warp(), first = std::countr_zero(mask | 1u << (kLanes - 1));
  char* round = &order[warp][first][rounds[warp][first] % 2];
  sanitizer::release(round);
  meet(kSyncWarp, mask, nullptr, site);
  sanitizer::acquire(round);
}

unsigned active_mask() {
  const Warp& warp = machine.warps[machine.current->warp()];
  return warp.present & ~warp.exited;
}

void reset_warps() {
  for (Warp& warp : machine.warps) warp.num_calls = 0;
}

void check_exit_in_warp(const Thread& thread) {
  const Warp& warp = machine.warps[thread.warp()];
  for (int i = 0; i < warp.num_calls; ++i) {
    const WarpCall& call = warp.calls[i];
    if ((call.mask >> thread.lane() & 1) != 0)
      fail(call.site, [&] {
        return std::string("exits while ") + lanes_text(call.arrived) + " of its warp wait for it at " +
               call.operation->name + " (" + text(call.site) + ")";
      });
  }
}

}  // namespace simt
