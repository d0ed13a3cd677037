#include "video/store/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/check.h"

namespace zoetrope {

FolderLock::FolderLock(const std::string& folder, Kind kind)
    : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  ZT_REQUIRE(descriptor_ >= 0, "can't open the folder '", folder, "': ", std::strerror(errno));
  if (flock(descriptor_, (kind == Kind::kWriter ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return;  // some network file systems have no locks
  close(descriptor_);
  if (kind == Kind::kReader) throw Error(join_message("an ingest is writing to '", folder, "'; wait for it"));
  throw Error(
      join_message("another ingest or merge is using '", folder, "'; wait for it or choose another folder"));
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace zoetrope
