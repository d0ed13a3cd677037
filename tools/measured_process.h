// A child process with what the system counted for it, for benchmarks of whole commands.
#pragma once

#include <string>
#include <vector>

namespace zoetrope {

/// Units: seconds, bytes.
struct ProcessUse {
  double user = 0, system = 0, wall = 0;
  double peak_bytes = 0;  ///< resident
  double cpu() const { return user + system; }
};

/// Runs a command to its end, its output thrown away. Throws: Error naming it, with what it printed on
/// stderr, unless its exit code is 0.
ProcessUse run_measured(const std::vector<std::string>& command);

/// Path of the running program.
std::string own_program();

}  // namespace zoetrope
