// One test body for ranks as threads and as MPI processes: the same source is built twice, and the build with
// tests/support/mpi_main.cxx runs under mpirun.
#pragma once

#include <functional>
#include <vector>

#include "parallel/comm.h"

namespace zoetrope::test {

/// Rank counts that this process can run: those wanted, or MPI's own when it is among them.
std::vector<int> rank_counts(const std::vector<int>& wanted);

/// Runs `body` on ranks as threads, or as this process's MPI rank.
void run_ranks(int num_ranks, const std::function<void(Comm&)>& body);

/// Set by the MPI main before the tests run.
void use_process_comm(Comm* comm);

}  // namespace zoetrope::test
