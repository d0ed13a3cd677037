// All ranks plan for themselves; this is where a difference would be noticed.
#include "core/check.h"
#include "core/files.h"
#include "parallel/gather.h"
#include "parallel/step.h"

namespace zoetrope {

void check_same_plan(Comm& comm, uint64_t plan_hash, int64_t step) {
  const std::vector<uint64_t> hashes = gather_values(comm, plan_hash);
  std::string differing;
  for (int rank = 1; rank < comm.size(); ++rank)
    if (hashes[size_t(rank)] != hashes[0])
      differing += join_message(differing.empty() ? "" : ", ", rank, " (", hex64(hashes[size_t(rank)]), ")");
  ZT_REQUIRE(differing.empty(), "step ", step + 1, ": the plans of ranks ", differing,
             " differ from rank 0's (", hex64(hashes[0]),
             "); all ranks must run the same binary with the same data, config and cost file");
}

}  // namespace zoetrope
