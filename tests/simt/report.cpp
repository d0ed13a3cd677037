#include <bit>
#include <cstring>
#include <map>
#include <tuple>

#include "tests/simt/machine.h"

namespace simt {
namespace {

std::string text(dim3 size) { return simt::text(uint3{size.x, size.y, size.z}); }

std::string lane_range(int first, int last) {
  return std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
}

uint64_t volume(dim3 size) { return uint64_t(size.x) * size.y * size.z; }

}  // namespace

bool same(Site a, Site b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

std::string text(uint3 position) {
  return "(" + std::to_string(position.x) + "," + std::to_string(position.y) + "," +
         std::to_string(position.z) + ")";
}

std::string text(Site site) {
  const char* slash = std::strrchr(site.file, '/');
  return std::string(slash == nullptr ? site.file : slash + 1) + ":" + std::to_string(site.line);
}

std::string text(const Thread& thread) {
  return std::string(machine.shape->name) + ", block " + text(blockIdx) + ", thread " +
         text(thread.position) + " (warp " + std::to_string(thread.warp()) + ", lane " +
         std::to_string(thread.lane()) + ")";
}

std::string lanes_text(uint32_t lanes) {
  const std::string noun = std::has_single_bit(lanes) ? "lane " : "lanes ";
  std::string list;
  while (lanes != 0) {
    const int first = std::countr_zero(lanes);
    const int last = first + std::countr_one(lanes >> first) - 1;
    list += (list.empty() ? "" : ", ") + lane_range(first, last);
    lanes = last == kLanes - 1 ? 0 : lanes >> (last + 1) << (last + 1);
  }
  return noun + list;
}

std::string census() {
  using Place = std::tuple<std::string, int>;  // what they do, warp
  std::map<Place, uint32_t> groups;
  for (int i = 0; i < machine.num_threads; ++i) {
    const Thread& thread = machine.threads[i];
    std::string what = "can run";
    if (thread.state == State::kExited) what = "exited";
    if (thread.state == State::kWaiting)
      what = "at " + std::string(thread.operation) + " (" + text(thread.site) + ")";
    if (thread.state == State::kReady && *thread.operation != 0)
      what = "can run, last at " + std::string(thread.operation) + " (" + text(thread.site) + ")";
    groups[{what, thread.warp()}] |= 1u << thread.lane();
  }
  std::string all = "Where the " + std::to_string(machine.num_threads) + " threads stand:";
  for (const auto& [place, lanes] : groups)
    all += "\n  warp " + std::to_string(std::get<1>(place)) + ", " + lanes_text(lanes) + ": " +
           std::get<0>(place);
  return all;
}

void check_launch(const LaunchShape& shape) {
  const std::string name = shape.name;
  const dim3 block = shape.block, grid = shape.grid;
  if (volume(block) == 0 || volume(block) > kMostThreads || block.x > 1024 || block.y > 1024 || block.z > 64)
    throw Error(name + ": block of " + text(block) + " threads; a block has 1 to 1024, at most 64 in z");
  if (volume(grid) == 0 || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    throw Error(name + ": grid of " + text(grid) + " blocks; 1 to 2^31-1 in x, 1 to 65535 in y and z");
  const size_t bytes = shape.dynamic_shared_bytes;
  if (bytes > kMostSharedBytes)
    throw Error(name + ": " + std::to_string(bytes) +
                " bytes of dynamic shared memory, a block has at most " + std::to_string(kMostSharedBytes));
  if (bytes > shape.max_dynamic_shared_bytes)
    throw Error(name + ": " + std::to_string(bytes) + " bytes of dynamic shared memory, but only " +
                std::to_string(shape.max_dynamic_shared_bytes) +
                " are allowed; call cudaFuncSetAttribute(kernel, "
                "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)");
}

}  // namespace simt
