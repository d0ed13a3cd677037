// One training at a time in a run folder, and a folder that can take what the run will write.
#pragma once

#include <string>

namespace zoetrope {

/// Holds RUN/lock while it lives; the system lets go of it when the process ends, however it ends.
class RunLock {
 public:
  /// Makes the folder, waits a few seconds for a training that was just killed, removes what its unfinished
  /// save left, and tries that checkpoints can be written.
  /// Throws: Error naming the folder and who uses it, or what can't be written and why.
  explicit RunLock(const std::string& run);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace zoetrope
