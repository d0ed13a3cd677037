// Another program as a child: its output, its end and what the system counted for it. Used by benchmarks and
// tests of whole commands.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace zoetrope {

/// How a command ended, with everything that it printed (stdout and stderr together).
struct Finished {
  int exit_code = -1;  ///< 128 + signal when killed
  std::string output;
  double user = 0, system = 0;  ///< seconds of the first process and the children that it waited for
  double wall = 0;              ///< seconds from its start until its end was seen
  int64_t peak_bytes = 0;       ///< largest resident memory of one of them
  double cpu() const { return user + system; }
};

/// A child in a process group of its own, without input. It ends with the thread that started it.
class ChildProcess {
 public:
  /// Throws: Error when the system has no room for another process. That a command isn't there is its output.
  explicit ChildProcess(const std::vector<std::string>& command);
  ~ChildProcess();  ///< kills the group when still running
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Sends a signal to all processes of the group, or to its first alone.
  void signal_group(int signal) const;
  void signal_leader(int signal) const;
  /// Waits up to this long; true when it has ended.
  bool wait_for(std::chrono::milliseconds limit);
  Finished wait();
  /// What it has printed so far.
  std::string output() const;

 private:
  /// After `wait4`: notes the end if it returned this child.
  void note_end(pid_t returned);

  std::chrono::steady_clock::time_point begin_;
  std::chrono::duration<double> wall_{};
  pid_t pid_ = -1;
  int output_ = -1;
  int status_ = 0;
  rusage usage_{};
  bool ended_ = false;
};

/// Runs a command to its end.
Finished run_process(const std::vector<std::string>& command);
/// The same. Throws: Error naming it, with the end of its output, unless its exit code is 0.
Finished run_successfully(const std::vector<std::string>& command);

/// Path of the running program.
std::string own_program();

}  // namespace zoetrope
