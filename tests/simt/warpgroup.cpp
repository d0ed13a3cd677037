// wgmma, warp by warp: each of the four warps of a group holds 16 rows of the sums, so that each can go on
// alone. At issue the sums turn to NaN; the product is made at the wait that covers its group, from what
// shared memory holds then. So sums read too early are NaN, and operands overwritten too early give wrong
// sums.
#include <algorithm>
#include <bit>
#include <limits>

#include "tests/simt/include/simt_ptx_sm90.h"
#include "tests/simt/machine.h"
#include "tests/simt/sanitizer.h"
#include "tests/simt/tensor_map.h"

namespace simt {
namespace {

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kRows = 16, kDepth = 16, kMostColumns = 128, kGroupWarps = 4;

/// A product under way, with what each lane brought.
struct Pending {
  GroupProduct shape;
  uint64_t group;
  std::array<std::array<uint32_t, 4>, kLanes> a;
  std::array<float*, kLanes> d;
};
/// Sums that products under way will change: their values, while the lanes' registers hold NaN.
struct Sums {
  std::array<float*, kLanes> d;
  int columns;
  float value[kRows][kMostColumns];
};
struct Queue {
  std::vector<Pending> products;
  std::vector<Sums> sums;
  uint64_t committed = 0, issued = 0;
  bool fenced = false;
};
std::array<Queue, kMostWarps> queues;

Queue& queue() { return queues[machine.current->warp()]; }

/// Calls visit(row, column, register) for the sums that a lane holds.
template <class Visit>
void for_sums(int lane, int columns, Visit visit) {
  const int g = lane / 4, t = lane % 4 * 2;
  for (int i = 0; i < columns / 2; ++i) visit(g + i / 2 % 2 * 8, i / 4 * 8 + t + i % 2, i);
}

/// An operand in shared memory, from the 64-bit description.
struct Place {
  uint32_t address, leading, stride;
  bool transposed;  // rows run across k
  /// Of element (i of m or n, k).
  uint32_t of(int i, int k) const {
    const uint32_t across = uint32_t(transposed ? k : i), along = uint32_t(transposed ? i : k);
    const uint32_t block = transposed ? along / 64 * leading + along % 64 * 2 : along * 2;
    return swizzle_128(address + across / 8 * stride + across % 8 * 128 + block);
  }
};

Place place_of(uint64_t description, bool transposed, Site site) {
  const auto field = [&](int bit) { return uint32_t(description >> bit & 0x3fff) << 4; };
  if (description >> 62 != 1 || (description >> 49 & 7) != 0)
    fail(site, [] {
      return std::string(
          "wgmma: an operand's description is not of the 128-byte swizzle without base offset");
    });
  return {field(0), field(16), field(32), transposed};
}

float element(const Place& place, int i, int k, Site site) {
  const void* at = shared_pointer(place.of(i, k), 2, "wgmma", site);
  return std::bit_cast<float>(uint32_t(*static_cast<const uint16_t*>(at)) << 16);
}

struct IssueArguments {
  GroupProduct product;
};

bool same_operands(const GroupProduct& x, const GroupProduct& y) {
  return x.columns == y.columns && x.transposed_b == y.transposed_b && x.accumulate == y.accumulate &&
         x.a_place == y.a_place && x.b_place == y.b_place && (x.a == nullptr) == (y.a == nullptr);
}

Sums& sums_of(Queue& all, const Pending& pending) {
  for (Sums& sums : all.sums)
    if (sums.d == pending.d) return sums;
  Sums& sums = all.sums.emplace_back();
  sums.d = pending.d;
  sums.columns = pending.shape.columns;
  for (int lane = 0; lane < kLanes; ++lane)
    for_sums(lane, sums.columns,
             [&](int row, int column, int i) { sums.value[row][column] = sums.d[lane][i]; });
  return sums;
}

void complete_issue(const WarpCall& call) {
  Queue& all = queue();
  const auto product = [&](int lane) -> const GroupProduct& {
    return static_cast<const IssueArguments*>(call.arguments[lane])->product;
  };
  if (!all.fenced)
    fail(call.site, [] { return std::string("wgmma without a wgmma_fence() since the last wgmma_wait"); });
  for (int lane = 0; lane < kLanes; ++lane)
    if (!same_operands(product(lane), product(0)))
      fail(call.site,
           [&] { return "wgmma: lane " + std::to_string(lane) + " gives other operands than lane 0"; });
  const sanitizer::Quiet quiet;
  Pending& pending = all.products.emplace_back();
  pending.shape = product(0);
  pending.group = all.committed;
  for (int lane = 0; lane < kLanes; ++lane) {
    pending.d[lane] = product(lane).d;
    if (product(lane).a != nullptr) std::copy_n(product(lane).a, 4, pending.a[lane].data());
  }
  sums_of(all, pending);
  for (float* d : pending.d)
    std::fill_n(d, pending.shape.columns / 2, std::numeric_limits<float>::quiet_NaN());
  ++all.issued;
  ++machine.stats.group_products;
}

void load_a(const Pending& pending, float (&a)[kRows][kDepth], Site site) {
  const int first_row = machine.current->warp() % kGroupWarps * kRows;
  if (pending.shape.a == nullptr) {
    const Place place = place_of(pending.shape.a_place, false, site);
    for (int row = 0; row < kRows; ++row)
      for (int k = 0; k < kDepth; ++k) a[row][k] = element(place, first_row + row, k, site);
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane)
    for (int part = 0; part < 4; ++part) {
      const uint32_t pair = pending.a[lane][part];
      float* to = &a[lane / 4 + part % 2 * 8][lane % 4 * 2 + part / 2 * 8];
      to[0] = std::bit_cast<float>(pair << 16), to[1] = std::bit_cast<float>(pair & 0xffff0000u);
    }
}

void multiply(const Pending& pending, Sums& sums, Site site) {
  float a[kRows][kDepth], b[kDepth][kMostColumns];
  load_a(pending, a, site);
  const Place place = place_of(pending.shape.b_place, pending.shape.transposed_b, site);
  const int columns = sums.columns;
  for (int k = 0; k < kDepth; ++k)
    for (int column = 0; column < columns; ++column) b[k][column] = element(place, column, k, site);
  for (int row = 0; row < kRows; ++row) {
    float* to = sums.value[row];
    if (!pending.shape.accumulate) std::fill_n(to, columns, 0.0f);
    for (int k = 0; k < kDepth; ++k)
      for (int column = 0; column < columns; ++column) to[column] += a[row][k] * b[k][column];
  }
}

struct WaitArguments {
  int pending;
};

void complete_wait(const WarpCall& call) {
  Queue& all = queue();
  const uint64_t pending = uint64_t(static_cast<const WaitArguments*>(call.arguments[0])->pending);
  const auto covered = [&](const Pending& product) { return product.group + pending < all.committed; };
  for (const Pending& product : all.products)
    if (covered(product)) multiply(product, sums_of(all, product), call.site);
  const sanitizer::Quiet quiet;
  std::erase_if(all.products, covered);
  std::erase_if(all.sums, [&](const Sums& sums) {
    const auto changes = [&](const Pending& product) { return product.d == sums.d; };
    if (std::any_of(all.products.begin(), all.products.end(), changes)) return false;
    for (int lane = 0; lane < kLanes; ++lane)
      for_sums(lane, sums.columns,
               [&](int row, int column, int i) { sums.d[lane][i] = sums.value[row][column]; });
    return true;
  });
  all.fenced = false;
}

void complete_fence(const WarpCall&) { queue().fenced = true; }
void complete_commit(const WarpCall&) { ++queue().committed; }

const Operation kIssue = {"wgmma", complete_issue}, kWait = {"wgmma_wait", complete_wait},
                kFence = {"wgmma_fence", complete_fence}, kCommit = {"wgmma_commit", complete_commit};

/// The lane's share of the operands' 16-byte pieces, for ThreadSanitizer.
void report_reads(const GroupProduct& product, void* caller, Site site) {
  if (!sanitizer::kThread) return;
  constexpr int kPiece = 8;  // elements
  const auto report = [&](const Place& place, int count) {
    const int along = (place.transposed ? count : kDepth) / kPiece, pieces = count * kDepth / kPiece;
    for (int i = machine.current->lane(); i < pieces; i += kLanes) {
      const int across = i / along, first = i % along * kPiece;
      const uint32_t at = place.transposed ? place.of(first, across) : place.of(across, first);
      sanitizer::read(shared_pointer(at, 16, "wgmma", site), 16, caller);
    }
  };
  if (product.a == nullptr) report(place_of(product.a_place, false, site), kGroupWarps * kRows);
  report(place_of(product.b_place, product.transposed_b, site), product.columns);
}

}  // namespace

void start_group_product(GroupProduct product, Site site) {
  const int last_warp = machine.current->warp() | (kGroupWarps - 1);
  if ((last_warp + 1) * kLanes > machine.num_threads)
    fail(site, [] { return std::string("wgmma: the block ends before the fourth warp of this warpgroup"); });
  report_reads(product, __builtin_return_address(0), site);
  IssueArguments arguments{product};
  meet(kIssue, kAllLanes, &arguments, site);
}

void fence_group_products(Site site) { meet(kFence, kAllLanes, nullptr, site); }
void commit_group_products(Site site) { meet(kCommit, kAllLanes, nullptr, site); }
void wait_group_products(int pending, Site site) {
  WaitArguments arguments{pending};
  meet(kWait, kAllLanes, &arguments, site);
}

void reset_group_products() {
  for (Queue& each : queues) {
    each.products.clear();
    each.sums.clear();
    each.issued = each.committed = 0;
    each.fenced = false;
  }
}

void check_exit_of_products(const Thread& thread) {
  const Queue& all = queues[thread.warp()];
  if (!all.products.empty())
    fail(thread.site, [&] {
      return "exits before it has waited for " + std::to_string(all.products.size()) + " of its wgmma";
    });
}

void finish_group_products() {
  for (int warp = 0; warp < kMostWarps && !machine.failed; ++warp) {
    const uint64_t first = queues[warp & ~(kGroupWarps - 1)].issued;
    if (queues[warp].issued == first) continue;
    machine.failed = true;
    machine.failure = std::string(machine.shape->name) + ", block " + text(blockIdx) + ": warp " +
                      std::to_string(warp) + " has called " + std::to_string(queues[warp].issued) +
                      " wgmma, the first warp of its warpgroup " + std::to_string(first);
  }
}

}  // namespace simt
