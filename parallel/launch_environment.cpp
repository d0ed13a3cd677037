// What a launcher tells its ranks before MPI is initialised.
#include <cstdlib>

#include "parallel/comm.h"

namespace zoetrope {

bool launched_by_mpi() {
  // Open MPI 4 and 5 (through PRRTE), MPICH and its relatives, and Slurm's step launcher with PMI.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(name) != nullptr) return true;
  return std::getenv("SLURM_PROCID") != nullptr && std::getenv("SLURM_STEP_ID") != nullptr &&
         std::getenv("SLURM_STEP_NUM_TASKS") != nullptr;
}

}  // namespace zoetrope
