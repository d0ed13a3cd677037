#include "schedule/kernel_choices.h"

#include <filesystem>

#include "core/options.h"
#include "schedule/cost.h"
#include "schedule/hardware_files.h"

namespace zoetrope {

KernelChoices find_kernel_choices(const std::string& name_or_path) {
  KernelChoices choices;
  std::string path = name_or_path;
  if (!std::filesystem::exists(path)) path = find_hardware_file(path).value_or("");
  if (path.empty()) return choices;
  CostModel cost;
  OptionSet options;
  options.add_table("cost", cost);
  options.add_table("kernels", choices);
  load_toml(options, path);
  return choices;
}

std::string to_toml(const KernelChoices& choices) {
  KernelChoices copy = choices;
  OptionSet options;
  options.add_table("kernels", copy);
  return dump_toml(options);
}

}  // namespace zoetrope
