// What to say when a file can't grow. Used by core's files.
#pragma once

#include <cstddef>
#include <string>

namespace zoetrope {

/// For a write that failed with `error` since there is no room: how much is missing, and what to do. Empty
/// for other errors.
std::string room_text(int descriptor, int error, size_t wanted);

}  // namespace zoetrope
