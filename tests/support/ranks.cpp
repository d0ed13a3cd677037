#include "tests/support/ranks.h"

#include <algorithm>

#include "core/check.h"

namespace zoetrope::test {
namespace {
Comm* process_comm = nullptr;
}

void use_process_comm(Comm* comm) { process_comm = comm; }

std::vector<int> rank_counts(const std::vector<int>& wanted) {
  if (process_comm == nullptr) return wanted;
  if (std::find(wanted.begin(), wanted.end(), process_comm->size()) == wanted.end()) return {};
  return {process_comm->size()};
}

void run_ranks(int num_ranks, const std::function<void(Comm&)>& body) {
  if (process_comm == nullptr) return run_local_ranks(num_ranks, body);
  ZT_CHECK(num_ranks == process_comm->size(), "test wants ", num_ranks, " ranks, mpirun started ",
           process_comm->size());
  try {
    body(*process_comm);
    process_comm->barrier();
  } catch (const std::exception& error) { process_comm->abort(error.what()); }
}

}  // namespace zoetrope::test
