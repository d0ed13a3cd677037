// Runs the real binary in tests: output captured, killable at any moment.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace zoetrope::testing_support {

/// Exit status and everything a command printed (stdout and stderr together).
struct Finished {
  int exit_code = -1;  ///< 128 + signal when killed
  std::string output;
  double cpu_seconds = 0;  ///< user and system, of the first process and the children that it waited for
  int64_t peak_kib = 0;    ///< largest resident memory of one of them
};

/// A child in a process group of its own, its output going to a temporary file.
class Process {
 public:
  explicit Process(const std::vector<std::string>& command);
  ~Process();  ///< kills the group when still running
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  /// Sends a signal to all processes of the group, or to its first alone.
  void signal_group(int signal) const;
  void signal_leader(int signal) const;
  /// Waits up to this long; true when it has ended.
  bool wait_for(std::chrono::milliseconds limit);
  Finished wait();
  /// What it has printed so far.
  std::string output() const;

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  int status_ = 0;
  rusage usage_{};
  bool ended_ = false;
};

/// Runs a command to its end.
Finished run_process(const std::vector<std::string>& command);

/// The JSON object or list that it printed; a slow command's notes on stderr may come before.
std::string printed_json(const Finished& finished);

}  // namespace zoetrope::testing_support
