// Asks a run to save and end: SIGTERM and SIGINT to the program, SIGUSR1 from mpirun, which forwards it.
#pragma once

namespace zoetrope {

/// While one exists, the signals set a flag instead of ending the process. A second SIGINT ends it at once.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  /// True on this process once a signal came; ranks agree through all_reduce_max before they act on it.
  bool raised() const;
};

}  // namespace zoetrope
