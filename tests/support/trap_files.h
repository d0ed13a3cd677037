// The awkward media files that video tools are known to break on, made by the ffmpeg command once and kept in
// the build folder; and real ones that tools/real_clips.sh fetches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope::testing_support {

/// One file and the commands that make it.
struct TrapFile {
  const char* name;
  /// Shell; FF is ffmpeg with its quiet options, OUT the file. Others are named by the folder that it runs
  /// in.
  const char* command;
  std::vector<const char*> needs = {};  ///< files of this table that must be there first
  bool healthy = true;                  ///< decodes without an error, every frame with a place in time
};

/// All of them.
const std::vector<TrapFile>& trap_files();
/// Path of one by its name; makes it, and what it needs, when it isn't there. Throws: Error with ffmpeg's
/// output.
std::string trap_file(const std::string& name);
/// Where tools/real_clips.sh puts real clips.
std::string real_clips_folder();

}  // namespace zoetrope::testing_support
