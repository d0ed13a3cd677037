// Ranks of a command: one process, a user's own mpirun or srun, or mpirun started by the program itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "parallel/comm.h"
#include "tools/stop_signal.h"

namespace zoetrope {

/// Runs `body` on every rank and returns the largest exit code of all.
/// Inside mpirun or srun it runs here, on the ranks that they gave; otherwise one rank runs here and more are
/// started by `launch_ranks` with this process's own command line. `num_ranks` 0: one, or what mpirun gave.
/// An error on one rank ends all, naming the rank; `launch_ranks` prints what several ranks say once.
/// `saves_on_stop`: the body holds a StopSignal, so that the launcher hands stop signals on; else it ends the
/// ranks itself. Throws: UsageError when `num_ranks` is negative, or given and not what mpirun gave, 1
/// included.
int run_on_ranks(int64_t num_ranks, const std::function<int(Comm&)>& body, bool saves_on_stop = false);

/// What gives a command its ranks: `run_on_ranks`, or threads of a test.
using RunRanks =
    std::function<int(int64_t num_ranks, const std::function<int(Comm&)>& body, bool saves_on_stop)>;

/// Starts `num_ranks` processes of this program under Open MPI's mpirun, waits for them and returns their
/// exit code. SIGTERM and SIGINT become SIGUSR1, which mpirun hands on once all ranks run, so that they can
/// save; before any rank runs, and without `saves_on_stop`, they end all with 128 + the signal. When a rank
/// is killed, which ends all, it says which one and by what signal; the code is then 128 + that signal.
/// Throws: Error when this build has no MPI or mpirun of Open MPI is not found.
int launch_ranks(int argc, char** argv, int64_t num_ranks, bool saves_on_stop);

/// What `launch_ranks` starts.
struct LaunchPlan {
  std::vector<std::string> arguments;    ///< of mpirun, before the program
  std::vector<std::string> environment;  ///< NAME=value, on top of the inherited one
  std::vector<std::string> notes;        ///< lines for the user: root, more ranks than cores
};
/// `major`: Open MPI's major version; 4 starts through ORTE, 5 and later through PRRTE.
/// `shared_reads`: processes may read each other's memory (single-copy transfers), see `can_read_siblings`.
/// `session`, `shared_memory`: folders for sockets and for shared memory.
/// `address`: where ranks report to, see rank_watch.h.
LaunchPlan plan_launch(int major, int64_t num_ranks, int64_t num_cores, bool is_root, bool shared_reads,
                       const std::string& session, const std::string& shared_memory,
                       const std::string& address);

/// Cores that this process may run on.
int64_t available_cores();
/// Whether a process may read the memory of another child of its parent; containers often forbid it.
bool can_read_siblings();

}  // namespace zoetrope
