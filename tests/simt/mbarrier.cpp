// Barriers in shared memory and the tensor memory accelerator. A tile turns to NaN at issue and arrives only
// when somebody waits at its barrier, so a read without a wait sees NaN.
#include <cstring>

#include "tests/simt/include/simt_ptx_sm90.h"
#include "tests/simt/machine.h"
#include "tests/simt/sanitizer.h"
#include "tests/simt/tensor_map.h"

namespace simt {
namespace {

/// The 8 bytes of a barrier. Memory that nobody made one is all ones: NaN.
struct MBarrier {
  uint16_t pending, expected;  // arrivals that the phase misses, and arrivals of each phase
  int32_t bytes_and_phase;     // bytes still to come in the phase, times 2, and the phase's parity
  uint32_t phase() const { return uint32_t(bytes_and_phase) & 1; }
  int32_t bytes() const { return bytes_and_phase >> 1; }
  void add_bytes(int32_t count) { bytes_and_phase += 2 * count; }
};
static_assert(sizeof(MBarrier) == 8);
constexpr uint16_t kUnmade = 0xffff;

struct TileCopy {
  TensorMap map;
  int row, column;
  unsigned char* to;
  uint32_t address, barrier;
  Site site;
};
std::vector<TileCopy> under_way;

uint32_t bytes_of(const TensorMap& map) { return map.box_rows * map.box_columns * 2; }

MBarrier& barrier_at(uint32_t barrier, const char* operation, Site site) {
  auto& at = *static_cast<MBarrier*>(shared_pointer(barrier, sizeof(MBarrier), operation, site));
  if (at.expected == kUnmade)
    fail(site, [=] {
      return std::string(operation) + ": no mbarrier_init has made a barrier at offset " +
             std::to_string(barrier);
    });
  return at;
}

/// The address that ThreadSanitizer orders a phase by; two in turn.
char* order(MBarrier& barrier, bool phase) { return reinterpret_cast<char*>(&barrier) + (phase ? 4 : 0); }

void end_phase_if_complete(MBarrier& barrier) {
  if (barrier.pending > 0 || barrier.bytes() != 0) return;
  barrier.pending = barrier.expected;
  barrier.bytes_and_phase ^= 1;
  machine.yields_without_progress = 0;
}

void deliver(const TileCopy& copy) {
  const TensorMap& map = copy.map;
  for (uint32_t r = 0; r < map.box_rows; ++r)
    for (uint32_t c = 0; c < map.box_columns; ++c) {
      const int64_t row = int64_t(copy.row) + r, column = int64_t(copy.column) + c;
      const bool inside = row >= 0 && row < int64_t(map.rows) && column >= 0 && column < int64_t(map.columns);
      const uint32_t address = copy.address + (r * map.box_columns + c) * 2;
      unsigned char* to = copy.to + (map.swizzled ? swizzle_128(address) : address) - copy.address;
      const unsigned char* from = map.data + uint64_t(row) * map.row_bytes + uint64_t(column) * 2;
      for (int byte = 0; byte < 2; ++byte) to[byte] = inside ? from[byte] : 0;
    }
}

/// All tiles on their way to a barrier arrive.
void deliver_to(uint32_t address, MBarrier& barrier) {
  const sanitizer::Quiet quiet;
  std::erase_if(under_way, [&](const TileCopy& copy) {
    if (copy.barrier != address) return false;
    deliver(copy);
    barrier.add_bytes(-int32_t(bytes_of(copy.map)));
    return true;
  });
  end_phase_if_complete(barrier);
}

void check_tile(const TensorMap& map, uint32_t to, Site site) {
  if (map.magic != kTensorMapMagic)
    fail(site, [] { return std::string("copy_tile: the map is not one that cuTensorMapEncodeTiled made"); });
  const uint32_t align = map.swizzled ? 1024 : 128;
  if (to % align != 0)
    fail(site, [=] {
      return "copy_tile: shared address " + std::to_string(to) + " is not a multiple of " +
             std::to_string(align);
    });
  shared_pointer(to, 16, "copy_tile", site);
  shared_pointer(to + bytes_of(map) - 16, 16, "copy_tile", site);
}

}  // namespace

void init_mbarrier(uint32_t barrier, int arrivals, Site site) {
  auto& at = *static_cast<MBarrier*>(shared_pointer(barrier, sizeof(MBarrier), "mbarrier_init", site));
  if (arrivals < 1 || arrivals > kMostThreads)
    fail(site,
         [=] { return "mbarrier_init for " + std::to_string(arrivals) + " arrivals, 1 to 1024 make sense"; });
  at = {uint16_t(arrivals), uint16_t(arrivals), 0};
}

void arrive_mbarrier(uint32_t barrier, int bytes, Site site) {
  MBarrier& at = barrier_at(barrier, "mbarrier_arrive", site);
  if (at.pending == 0)
    fail(site, [&] {
      return "mbarrier_arrive: all " + std::to_string(at.expected) +
             " arrivals of the phase were there already";
    });
  sanitizer::release(order(at, at.phase() != 0));
  at.add_bytes(bytes);
  --at.pending;
  end_phase_if_complete(at);
  switch_point();
}

void wait_mbarrier(uint32_t barrier, int parity, Site site) {
  MBarrier& at = barrier_at(barrier, "mbarrier_wait", site);
  while (at.phase() == uint32_t(parity)) {
    deliver_to(barrier, at);
    if (at.phase() == uint32_t(parity)) yield(site);
  }
  sanitizer::acquire(order(at, parity != 0));
  switch_point();
}

void copy_tile(uint32_t to, const CUtensorMap* map, int row, int column, uint32_t barrier, Site site) {
  TileCopy copy{};
  std::memcpy(&copy.map, map,
              sizeof copy.map);  // now: a map among a kernel's parameters ends with the thread
  check_tile(copy.map, to, site);
  MBarrier& at = barrier_at(barrier, "copy_tile", site);
  copy.row = row, copy.column = column;
  copy.to = static_cast<unsigned char*>(shared_pointer(to, 16, "copy_tile", site));
  copy.address = to, copy.barrier = barrier;
  copy.site = site;
  void* caller = __builtin_return_address(0);
  sanitizer::write(copy.to, bytes_of(copy.map), caller);
  for (uint32_t i = 0; i < bytes_of(copy.map); ++i) copy.to[i] = 0xff;
  sanitizer::release(order(at, at.phase() != 0));
  {
    const sanitizer::Quiet quiet;
    under_way.push_back(copy);
  }
  machine.stats.tile_copies += 1;
  switch_point();
}

void reset_tile_copies() { under_way.clear(); }

void finish_tile_copies() {
  if (under_way.empty() || machine.failed) return;
  machine.failed = true;
  machine.failure = std::string(machine.shape->name) + ", block " + text(blockIdx) + ", " +
                    text(under_way[0].site) +
                    ": the block ends while a tile is on its way: nobody has waited at its mbarrier";
}

}  // namespace simt
