#include "schedule/hardware_files.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/check.h"
#include "schedule/cost.h"

namespace zoetrope {
namespace fs = std::filesystem;
namespace {

constexpr const char kSuffix[] = ".toml";

bool is_name(const std::string& name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), is_allowed);
}

}  // namespace

std::vector<std::string> hardware_folders() {
  std::vector<std::string> folders;
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  for (const fs::path& configs :
       {program.parent_path() / ZT_CONFIGS_FROM_PROGRAM, fs::path(ZT_SOURCE_CONFIGS)}) {
    const fs::path folder = (configs / "hardware").lexically_normal();
    if (fs::is_directory(folder, none)) folders.push_back(folder);
  }
  return folders;
}

std::optional<std::string> find_hardware_file(const std::string& name) {
  if (!is_name(name)) return {};
  std::error_code none;
  for (const std::string& folder : hardware_folders())
    if (const std::string path = folder + "/" + name + kSuffix; fs::is_regular_file(path, none)) return path;
  return {};
}

std::vector<std::string> hardware_names() {
  std::set<std::string> names;
  std::error_code none;
  for (const std::string& folder : hardware_folders())
    for (const auto& entry : fs::directory_iterator(folder, none))
      if (entry.path().extension() == kSuffix && is_name(entry.path().stem()))
        names.insert(entry.path().stem());
  return {names.begin(), names.end()};
}

std::string hardware_file_for(const std::string& name) {
  if (!is_name(name))
    throw UsageError(join_message("name '", name, "': expected letters, digits, '.', '_' and '-'"));
  for (const CostModel& set : built_in_costs())
    if (set.name == name)
      throw UsageError(join_message("name '", name, "' is that of a built-in cost set; choose another"));
  if (find_paper_cost(name))
    throw UsageError(join_message("name '", name, "' is that of a cost set on paper; choose another"));
  const std::vector<std::string> folders = hardware_folders();
  if (folders.empty())
    throw UsageError(
        "there is no folder configs/hardware beside this program; write the cost set with --out FILE");
  return folders[0] + "/" + name + kSuffix;
}

}  // namespace zoetrope
