// What Open MPI must be told: it refuses root, refuses more ranks than cores, and binds each rank to one
// core.
#include <sched.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/check.h"
#include "tools/launch.h"

namespace zoetrope {

LaunchPlan plan_launch(int major, int64_t num_ranks, int64_t num_cores, bool is_root, bool shared_reads,
                       const std::string& session, const std::string& shared_memory,
                       const std::string& address) {
  const bool is_old = major < 5;
  const bool crowded = num_ranks > num_cores;
  LaunchPlan plan;
  // Always allowed to oversubscribe: mpirun counts cores without their hyperthreads, or one where it sees
  // none.
  plan.arguments = {"-n", std::to_string(num_ranks), "--bind-to", "none", "--map-by", ":OVERSUBSCRIBE"};
  if (is_old) plan.arguments.push_back("--quiet");  // our own line says which rank failed; 5 has no such flag
  // Shared memory alone: no network is needed on one machine, and none is probed. In Open MPI 4 the transport
  // copies through small pieces unless processes may read each other's memory; asking for that where it is
  // forbidden prints a warning per rank.
  plan.environment = {
      "OMPI_MCA_pml=ob1",
      is_old ? "OMPI_MCA_btl=self,vader" : "OMPI_MCA_btl=self,sm",
      std::string("OMPI_MCA_btl_") + (is_old ? "vader" : "sm") + "_backing_directory=" + shared_memory,
      "TMPDIR=" + session,
      "HWLOC_HIDE_ERRORS=2",
      "ZOETROPE_LAUNCHED=" + address};
  if (!shared_reads)
    plan.environment.push_back(is_old ? "OMPI_MCA_btl_vader_single_copy_mechanism=none"
                                      : "OMPI_MCA_smsc=^cma,xpmem");
  plan.environment.push_back(crowded ? "OMPI_MCA_mpi_yield_when_idle=1" : "OMPI_MCA_mpi_yield_when_idle=0");
  if (crowded) {
    plan.notes.push_back(
        join_message(num_ranks, " ranks on ", num_cores, " cores: ranks share cores, waits yield"));
  }
  if (is_root) {
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"})
      for (const char* suffix : {"=1", "_CONFIRM=1"}) plan.environment.push_back(std::string(name) + suffix);
    plan.notes.push_back("running as root: mpirun is told to allow it (OMPI_ALLOW_RUN_AS_ROOT, ..._CONFIRM)");
  }
  return plan;
}

int64_t available_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return sysconf(_SC_NPROCESSORS_ONLN);
  return CPU_COUNT(&cores);
}

bool can_read_siblings() {
  const volatile int secret = 4711;  // lies at the same address in both children
  int gate[2];
  if (pipe(gate) != 0) return false;
  const pid_t target = fork();
  if (target == 0) {  // lives until the parent closes the gate
    close(gate[1]);
    char byte;
    while (read(gate[0], &byte, 1) > 0) {}
    _exit(0);
  }
  const pid_t reader = fork();
  if (reader == 0) {
    int seen = 0;
    const iovec here{&seen, sizeof seen}, there{const_cast<int*>(&secret), sizeof secret};
    _exit(process_vm_readv(target, &here, 1, &there, 1, 0) == ssize_t(sizeof seen) && seen == 4711 ? 0 : 1);
  }
  int status = -1;
  if (reader > 0) waitpid(reader, &status, 0);
  close(gate[0]);
  close(gate[1]);
  if (target > 0) waitpid(target, nullptr, 0);
  return target > 0 && reader > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace zoetrope
