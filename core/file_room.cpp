#include "core/file_room.h"

#include <sys/statvfs.h>

#include <cerrno>

#include "core/check.h"

namespace zoetrope {

std::string room_text(int descriptor, int error, size_t wanted) {
  if (error != ENOSPC && error != EDQUOT && error != EFBIG) return "";
  struct statvfs disk = {};
  std::string text = join_message("; ", wanted, " more bytes are needed");
  if (error == ENOSPC && fstatvfs(descriptor, &disk) == 0)
    text += join_message(", its disk has ", uint64_t(disk.f_bavail) * disk.f_frsize, " left");
  return text + "; make room and run the same command again";
}

}  // namespace zoetrope
