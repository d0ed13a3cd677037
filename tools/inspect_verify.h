// zoetrope inspect --verify: everything of a data set compared, damage named clip by clip.
#pragma once

#include <string>

namespace zoetrope {

/// Prints what `verify_dataset` found and what to do about it, as text or as JSON, and progress on stderr
/// unless `quiet`. Returns the exit code: 0 sound, 1 damaged.
int verify_command(const std::string& dataset, bool json, bool quiet);

}  // namespace zoetrope
