// Measured machines by name: what the tree holds, and where a program of an installed tree looks.
#include "schedule/hardware_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/check.h"
#include "core/files.h"
#include "schedule/cost.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"

namespace zoetrope {
namespace {

using testing_support::Finished;
using testing_support::run_process;
using testing_support::TemporaryFolder;

TEST(HardwareFiles, EachIsMeasuredAndFoundByItsName) {
  int64_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ZT_SOURCE_DIR "/configs/hardware")) {
    const std::string name = entry.path().stem();
    SCOPED_TRACE(name);
    const CostModel cost = find_cost(name);
    EXPECT_EQ(hash_of(cost), hash_of(read_cost(entry.path())));
    EXPECT_EQ(cost.name, name);
    EXPECT_EQ(cost.date.size(), 10u);
    EXPECT_NE(cost.device, "unknown");
    EXPECT_GT(cost.fit_error, 0);
    EXPECT_GT(cost.linear_forward_ns, 0);
    EXPECT_GT(cost.gemm_flops, 0);
    ++files;
  }
  EXPECT_GE(files, 1);
  EXPECT_EQ(int64_t(hardware_names().size()), files);
}

TEST(HardwareFiles, NamesThatCannotBeAreRefused) {
  EXPECT_FALSE(find_hardware_file("../tiny").has_value());
  EXPECT_FALSE(find_hardware_file("").has_value());
  for (const char* name : {"", "../x", "a b", ".hidden", "h100", "square", "ring:1700"})
    EXPECT_THROW(hardware_file_for(name), UsageError) << name;
  EXPECT_NE(hardware_file_for("new-box").find("/hardware/new-box.toml"), std::string::npos);
  try {
    find_cost("new-box");
    ADD_FAILURE();
  } catch (const UsageError& problem) {
    EXPECT_NE(std::string(problem.what()).find(hardware_names().at(0)), std::string::npos) << problem.what();
  }
}

TEST(HardwareFiles, AnInstalledProgramLooksBesideItselfFirst) {
  const TemporaryFolder folder;
  namespace fs = std::filesystem;
  const std::string share = folder.path() + "/share/zoetrope/configs/hardware";
  fs::create_directories(folder.path() + "/bin");
  fs::create_directories(share);
  const std::string program = folder.path() + "/bin/zoetrope";
  fs::copy_file(ZT_BINARY, program);
  CostModel cost = find_cost("h100");
  cost.device = "a box of this test";
  for (const std::string& name : {std::string("new-box"), hardware_names().at(0)}) {
    cost.name = name;
    write_cost(share + "/" + name + ".toml", cost);
    const Finished finished = run_process({program, "plan", "--trace", "t1", "--samples", "8", "--ranks", "2",
                                           "--tokens-per-rank", "200000", "--cost", name});
    EXPECT_EQ(finished.exit_code, 0) << finished.output;
    EXPECT_NE(finished.output.find(cost.device), std::string::npos) << finished.output;
  }
}

}  // namespace
}  // namespace zoetrope
