// Table [kernels] beside a cost set: read by who computes, ignored by who plans.
#include "schedule/kernel_choices.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/check.h"
#include "core/files.h"
#include "schedule/cost.h"

namespace zoetrope {
namespace {

TEST(KernelChoices, StandBesideTheCostSetInItsFile) {
  const std::string path = testing::TempDir() + "kernel_choices_test.toml";
  CostModel cost;
  cost.name = "here";
  write_cost(path, cost);
  EXPECT_EQ(find_kernel_choices(path).attention, "own");
  write_file_atomically(path, read_file(path) + "\n" + to_toml({"cudnn"}));
  EXPECT_EQ(find_kernel_choices(path).attention, "cudnn");
  EXPECT_EQ(hash_of(read_cost(path)), hash_of(cost));
  std::filesystem::remove(path);
}

TEST(KernelChoices, OfBuiltInSetsAreTheDefault) {
  for (const CostModel& set : built_in_costs()) EXPECT_EQ(find_kernel_choices(set.name).attention, "own");
}

}  // namespace
}  // namespace zoetrope
