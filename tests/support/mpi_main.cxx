// Main of tests that run under mpirun. Only rank 0 prints passed tests; every rank prints its failures.
#include <gtest/gtest.h>

#include "core/log.h"
#include "tests/support/ranks.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  zoetrope::initialise_mpi(&argc, &argv);
  int failed = 0;
  {
    const std::unique_ptr<zoetrope::Comm> comm = zoetrope::make_mpi_comm();
    zoetrope::set_log_rank(comm->rank(), comm->size());
    zoetrope::test::use_process_comm(comm.get());
    if (argc > 1 && std::string(argv[1]) == "ranks" && std::to_string(comm->size()) != argv[2])
      comm->abort(std::string("test wants ") + argv[2] + " ranks, found " + std::to_string(comm->size()));
    if (comm->rank() > 0) testing::FLAGS_gtest_brief = true;
    failed = RUN_ALL_TESTS();
    zoetrope::test::use_process_comm(nullptr);
  }
  zoetrope::finalise_mpi();
  return failed;
}
