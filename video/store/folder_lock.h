// One writer per data set: a lock on its folder, which the system drops when the process ends in any way.
// Used by everything in video/ that changes a data set, and by what reads one for long.
#pragma once

#include <string>

namespace zoetrope {

/// Holds the lock as long as the object lives.
class FolderLock {
 public:
  /// A writer shares the folder with nobody, a reader with other readers.
  enum class Kind { kWriter, kReader };
  /// Throws: Error when somebody else holds the lock, or the folder can't be opened.
  FolderLock(const std::string& folder, Kind kind);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace zoetrope
