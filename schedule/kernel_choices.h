// Which kernels a machine computes with, as `zoetrope profile` found them: table [kernels] of the file that
// also holds the cost set. Planning doesn't read it; training does, so that nothing is timed to decide.
#pragma once

#include <string>

namespace zoetrope {

struct KernelChoices {
  std::string attention = "own";
  void visit(auto&& field) {
    field("attention-kernel", attention, "whose attention kernels are faster here");
  }
};

/// The choices of a cost set by name or file, as `find_cost` takes it; the default where it has none, as
/// built-in sets. Throws: as find_cost.
KernelChoices find_kernel_choices(const std::string& name_or_path);
/// The table as text, to follow a cost set in its file.
std::string to_toml(const KernelChoices& choices);

}  // namespace zoetrope
