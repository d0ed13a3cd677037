// Where mpirun and its ranks keep their sockets and shared memory, named after the launcher's process: what a
// killed launcher left behind is removed by the next one.
#pragma once

#include <string>

namespace zoetrope {

/// Two folders of this process, removed when it ends.
class LaunchFolders {
 public:
  /// Removes the folders of launchers that are no more. Throws: Error when a folder can't be made.
  LaunchFolders();
  ~LaunchFolders();
  LaunchFolders(const LaunchFolders&) = delete;
  LaunchFolders& operator=(const LaunchFolders&) = delete;

  const std::string& session() const { return session_; }              ///< under TMPDIR or /tmp
  const std::string& shared_memory() const { return shared_memory_; }  ///< under /dev/shm where that exists

 private:
  std::string session_, shared_memory_;
};

}  // namespace zoetrope
