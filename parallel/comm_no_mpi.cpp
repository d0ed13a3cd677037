// Stands in for comm_mpi.cpp in a build without MPI: the same functions, as errors that say so.
#include "core/check.h"
#include "parallel/comm.h"

namespace zoetrope {

void initialise_mpi(int*, char***) {
  throw Error("this build has no MPI; install libopenmpi-dev and configure again, or use --ranks 1");
}
void finalise_mpi() {}
bool mpi_built() { return false; }
std::unique_ptr<Comm> make_mpi_comm() {
  throw Error("this build has no MPI; install libopenmpi-dev and configure again, or use --ranks 1");
}

}  // namespace zoetrope
