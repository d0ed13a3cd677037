// Cost sets of named machines: files configs/hardware/NAME.toml that `zoetrope profile --name NAME` writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace zoetrope {

/// In the order of the search: of the installed tree that this program lies in, then of the source tree that
/// it was built from; only those that exist.
std::vector<std::string> hardware_folders();
/// The file of a name; none when no folder has it, or the name is none that a file may have.
std::optional<std::string> find_hardware_file(const std::string& name);
/// All of them, sorted.
std::vector<std::string> hardware_names();
/// Where the file of a new name goes: the first of the folders.
/// Throws: UsageError when the name has other characters than letters, digits, '.', '_' and '-', is one of a
/// built-in set, or there is no folder.
std::string hardware_file_for(const std::string& name);

}  // namespace zoetrope
