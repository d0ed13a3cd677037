#include "tools/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/check.h"
#include "core/child_process.h"
#include "core/files.h"
#include "core/log.h"
#include "tools/launch_folders.h"
#include "tools/rank_watch.h"

namespace zoetrope {
namespace {

constexpr int64_t kMostRanks = 1024;  // processes; more is a slip of the finger

/// First number of "mpirun (Open MPI) 4.1.4".
int open_mpi_major() {
  std::string text;
  if (FILE* pipe = popen("mpirun --version 2>/dev/null", "r")) {
    char buffer[256];
    while (std::fgets(buffer, sizeof buffer, pipe)) text += buffer;
    pclose(pipe);
  }
  ZT_REQUIRE(!text.empty(), "mpirun was not found; install openmpi-bin, or use --ranks 1");
  const std::string name = "(Open MPI) ";
  const size_t at = text.find(name);
  ZT_REQUIRE(at != std::string::npos, "the mpirun in PATH is not Open MPI's: '",
             text.substr(0, text.find('\n')),
             "'; start the program under your own MPI launcher, without --ranks");
  return std::atoi(text.c_str() + at + name.size());
}

std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  ZT_CHECK(!words.empty(), "/proc/self/cmdline is empty");
  return words;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The child's side: mpirun in a process group of its own, so that Ctrl-C reaches the launcher alone.
[[noreturn]] void exec_mpirun(std::vector<std::string> words, std::vector<std::string> variables) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // with a killed launcher everything ends at once
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (const int null = open("/dev/null", O_RDONLY); null >= 0) dup2(null, STDIN_FILENO);
  std::vector<char*> arguments = pointers_to(words), environment = pointers_to(variables);
  execvpe("mpirun", arguments.data(), environment.data());
  _exit(127);
}

/// The next signal that waits, or 0.
int next_signal(int signals) {
  signalfd_siginfo info{};
  return read(signals, &info, sizeof info) == ssize_t(sizeof info) ? int(info.ssi_signo) : 0;
}

/// Says which rank was killed, unless a rank has named an error itself. Returns the exit code for it: mpirun
/// turns what a library ends the process with into its own.
int report_death(RankWatch& watch, int code) {
  while (watch.collect()) {}
  const std::optional<RankWatch::Death> death = watch.first_death();
  const bool by_signal = code > 128 && code <= 128 + SIGSYS;  // Open MPI 5 has codes of its own above them
  if (!death && code > 0 && !by_signal && watch.num_seen() == 0) {
    log_error(join_message("mpirun ended with exit code ", code,
                           " before any rank had started; what it says is above"));
    return 3;
  }
  if (!death && !by_signal) return code;
  const std::string who =
      death ? join_message("rank ", death->rank, " (pid ", death->pid, ")") : "a rank, or mpirun,";
  if (!by_signal) {
    log_error(join_message(who, " ended without a word, so all ranks were ended"));
    return 3;
  }
  const int number = code - 128;
  const char* hint =
      number == SIGKILL ? "; if nobody sent it, the kernel did for want of memory, and dmesg says so" : "";
  log_error(join_message(who, " was killed by signal ", number, " (", strsignal(number),
                         "), so all ranks were ended", hint));
  return code;
}

/// Ends mpirun, and with it the ranks, which die with their parent: in its first moments it mistakes SIGTERM.
void end_ranks(pid_t mpirun) {
  int status = 0;
  kill(mpirun, SIGKILL);
  while (waitpid(mpirun, &status, 0) < 0 && errno == EINTR) {}
}

/// What the launcher does when it is told to stop.
struct StopRule {
  bool saves;         ///< the ranks save on SIGUSR1 and end by themselves
  int64_t num_ranks;  ///< SIGUSR1 kills a rank that has not reported yet
};

/// Waits for mpirun. A stop signal becomes SIGUSR1 once all ranks are there, again every second: one that
/// came before a rank listens is lost. Without a rank, or with nothing to save, it ends them.
int wait_for_ranks(pid_t mpirun, int signals, RankWatch& watch, const StopRule& rule) {
  int interrupts = 0, stop = 0;
  for (;;) {
    int status = 0;
    if (waitpid(mpirun, &status, WNOHANG) == mpirun) {
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return report_death(watch, code);
    }
    watch.wait(signals, 1000);  // SIGCHLD ends the wait at once
    while (const int number = next_signal(signals)) {
      if (number == SIGCHLD) continue;
      stop = number;
      interrupts += number == SIGINT ? 1 : 0;
    }
    if (stop == 0) continue;
    const bool started = watch.num_seen() > 0;
    if (interrupts > 1 || !rule.saves || !started) {
      log_warning(interrupts > 1 ? "interrupted twice: ending without a checkpoint"
                  : started      ? join_message("ended by signal ", stop, " (", strsignal(stop), ")")
                                 : join_message("ended by signal ", stop, " (", strsignal(stop),
                                                ") before the ranks had started"));
      end_ranks(mpirun);
      return 128 + stop;
    }
    if (watch.num_seen() >= rule.num_ranks) kill(mpirun, SIGUSR1);
  }
}

int run_here(Comm& comm, RankReport& report, const std::function<int(Comm&)>& body) {
  set_log_rank(comm.rank(), comm.size());
  try {
    return int(comm.all_reduce_max(body(comm)));
  } catch (const UsageError& error) {
    if (comm.size() == 1) throw;
    if (!report.fails(error.what())) {
      // Every rank finds the same fault in the same flags: the first one says so.
      if (comm.rank() > 0) sleep(2);
      log_error(error.what());
    }
    std::_Exit(2);
  } catch (const std::exception& error) {
    if (comm.size() == 1) throw;
    const std::string message = message_of(error);
    comm.abort(report.fails(message) ? "" : message);
  }
  return 3;
}

/// Under srun without a PMI plugin every task is a world of its own and would train alone.
void check_world_size(const Comm& comm) {
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  if (tasks == nullptr || std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return;
  ZT_REQUIRE(std::atoi(tasks) == comm.size(), "srun started ", tasks, " tasks, but MPI sees ", comm.size(),
             "; try srun --mpi=pmix (srun --mpi=list shows what your Slurm has)");
}

}  // namespace

int launch_ranks(int argc, char** argv, int64_t num_ranks, bool saves_on_stop) {
  ZT_REQUIRE(mpi_built(), "--ranks ", num_ranks,
             ": this build has no MPI; install libopenmpi-dev and configure again");
  const LaunchFolders folders;
  RankWatch watch;
  const LaunchPlan plan =
      plan_launch(open_mpi_major(), num_ranks, available_cores(), geteuid() == 0, can_read_siblings(),
                  folders.session(), folders.shared_memory(), watch.address());
  for (const std::string& note : plan.notes) log_info(note);
  std::vector<std::string> words{"mpirun"};
  words.insert(words.end(), plan.arguments.begin(), plan.arguments.end());
  words.push_back(own_program());
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<std::string> variables = plan.environment;  // the first of two equal names counts
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);

  sigset_t signals, before;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD}) sigaddset(&signals, number);
  sigprocmask(SIG_BLOCK, &signals, &before);
  const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  ZT_REQUIRE(descriptor >= 0, "signals can't be waited for: ", std::strerror(errno));
  const pid_t mpirun = fork();
  ZT_REQUIRE(mpirun >= 0, "mpirun can't be started: ", std::strerror(errno));
  if (mpirun == 0) exec_mpirun(std::move(words), std::move(variables));
  const int code = wait_for_ranks(mpirun, descriptor, watch, {saves_on_stop, num_ranks});
  close(descriptor);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return code;
}

int run_on_ranks(int64_t num_ranks, const std::function<int(Comm&)>& body, bool saves_on_stop) {
  if (num_ranks < 0 || num_ranks > kMostRanks)
    throw UsageError(join_message("--ranks ", num_ranks, ", expected 1 to ", kMostRanks, " on one machine"));
  if (!launched_by_mpi()) {
    if (num_ranks > 1) {
      std::vector<std::string> words = own_command_line();
      std::vector<char*> argv = pointers_to(words);
      return launch_ranks(int(words.size()), argv.data(), num_ranks, saves_on_stop);
    }
    RankReport nobody;
    return run_here(*make_single_comm(), nobody, body);
  }
  if (std::getenv("ZOETROPE_LAUNCHED") != nullptr) prctl(PR_SET_PDEATHSIG, SIGKILL);  // mpirun is the parent
  RankReport report;
  initialise_mpi(nullptr, nullptr);
  int code = 0;
  {
    const std::unique_ptr<Comm> comm = make_mpi_comm();
    code = run_here(*comm, report, [&](Comm& here) {
      check_world_size(here);
      if (num_ranks > 0 && num_ranks != here.size())
        throw UsageError(join_message("--ranks (or the config's parallel.ranks) is ", num_ranks,
                                      ", but mpirun or srun started ", here.size(), "; give --ranks ",
                                      here.size(), ", or start ", num_ranks,
                                      ", or leave ranks out and take what is given"));
      return body(here);
    });
  }
  report.done();  // before all ranks meet for the last time: after that, mpirun may end this one for
                  // another's exit code
  finalise_mpi();
  return code;
}

}  // namespace zoetrope
