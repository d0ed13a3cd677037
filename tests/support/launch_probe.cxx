// A program that starts its own ranks, for tests of tools/launch: launch_probe RANKS MODE [CODE].
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/check.h"
#include "core/log.h"
#include "tools/launch.h"

using namespace zoetrope;

namespace {

int run_mode(Comm& comm, const std::string& mode, int code) {
  if (mode == "exit") {
    std::printf("rank %d of %d on %s, %lld cores\n", comm.rank(), comm.size(), comm.name(),
                static_cast<long long>(available_cores()));
    std::fflush(stdout);
    return comm.rank() == 0 ? code : 0;
  }
  if (mode == "fail") {
    if (comm.rank() == 1) throw Error("data/shard-00003.h5: cannot read");
    comm.barrier();
  }
  if (mode == "fail-all") throw Error("data/none: no such file");
  if (mode == "linger") {
    std::printf("rank %d has pid %d\n", comm.rank(), int(getpid()));
    std::fflush(stdout);
    comm.barrier();
    if (comm.rank() == 0) std::printf("ready\n"), std::fflush(stdout);
    for (;;) comm.barrier();
  }
  if (mode == "vanish") {
    if (comm.rank() == 1) _exit(1);  // as a library does that gives up
    comm.barrier();
  }
  if (mode == "usage") throw UsageError("--frames 0: must be positive");
  if (mode == "stop") {
    const StopSignal stop;
    comm.barrier();  // every rank listens before anybody is told to send
    if (comm.rank() == 0) std::printf("ready\n");
    std::fflush(stdout);
    while (comm.all_reduce_max(stop.raised() ? 1 : 0) == 0) usleep(1000);
    usleep(1500 * 1000);  // a save that takes longer than mpirun's own second
    std::printf("rank %d saved\n", comm.rank());
    std::fflush(stdout);
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string mode = argc > 2 ? argv[2] : "exit";
    return run_on_ranks(
        argc > 1 ? std::atoi(argv[1]) : 1,
        [&](Comm& comm) { return run_mode(comm, mode, argc > 3 ? std::atoi(argv[3]) : 0); }, mode == "stop");
  } catch (const UsageError& error) {
    log_error(error.what());
    return 2;
  } catch (const Error& error) {
    log_error(error.what());
    return 3;
  }
}
