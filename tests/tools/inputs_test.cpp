// Inputs that the user of a command may not read, or whose names are no text: the message says what and
// where.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "tests/support/training.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;

/// Root may read everything: here its commands run as nobody.
Finished run_without_root(const std::vector<std::string>& words) {
  constexpr uid_t kNobody = 65534;
  const bool was_root = geteuid() == 0;
  EXPECT_TRUE(!was_root || seteuid(kNobody) == 0);
  const Finished finished = run_process(words);
  EXPECT_TRUE(!was_root || seteuid(0) == 0);
  return finished;
}

/// A folder that nobody may enter until the object ends.
class ClosedFolder {
 public:
  explicit ClosedFolder(const std::string& path) : path_(path) { chmod(path.c_str(), 0); }
  ~ClosedFolder() { chmod(path_.c_str(), 0755); }
  ClosedFolder(const ClosedFolder&) = delete;
  ClosedFolder& operator=(const ClosedFolder&) = delete;

 private:
  std::string path_;
};

TEST(Inputs, AClosedFolderIsNamed) {
  const TrainingFixture fixture;
  const std::string run = fixture.run("run"), data = fixture.data().folder();
  ASSERT_EQ(fixture.train(run, {"--steps", "1"}).exit_code, 0);
  for (const std::string& path :
       {fs::path(run).parent_path().string(), fs::path(data).parent_path().string()})
    chmod(path.c_str(), 0755);  // temporary folders are their owner's alone
  const std::vector<std::string> inspect{ZT_BINARY, "inspect", data},
      heldout{ZT_BINARY, "heldout", "--run", run, "--data", data, "--train-data", data};
  if (run_without_root({ZT_BINARY, "--version"}).exit_code != 0)
    GTEST_SKIP() << "only root may run the program";
  for (const auto& [folder, words] : {std::pair{data, inspect},
                                      {run, heldout},
                                      {run + "/checkpoints", heldout},
                                      {run + "/checkpoints/step-000001", heldout}}) {
    const ClosedFolder closed(folder);
    const Finished finished = run_without_root(words);
    EXPECT_EQ(finished.exit_code, 3) << words[1] << ": " << finished.output;
    EXPECT_NE(finished.output.find("error: can't read or change '" + folder + "': Permission denied; "),
              std::string::npos)
        << words[1] << ": " << finished.output;
  }
}

TEST(Inputs, ABinaryFileNeitherSteersTheTerminalNorFillsIt) {
  const TemporaryFolder folder;
  std::string bytes;
  for (int i = 0; i < 1 << 16; ++i) bytes += char(i * 37 + 27);
  for (const std::string& content : {bytes, "{" + bytes, "tokens\n" + bytes}) {
    const std::string path = folder.path() + "/lengths";
    write_file_atomically(path, content);
    const Finished finished =
        run_process({ZT_BINARY, "plan", "--lengths", path, "--ranks", "2", "--tokens-per-rank", "100"});
    EXPECT_EQ(finished.exit_code, 3) << finished.output;
    EXPECT_LT(finished.output.size(), 1000u);
    for (const char c : finished.output) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int(c);
  }
}

TEST(Inputs, ANameThatIsNotUtf8StillGivesJson) {
  const SmallDataset small;
  const TemporaryFolder folder;
  const std::string data = folder.path() + "/caf\xe9";
  fs::copy(small.folder(), data, fs::copy_options::recursive);
  const Finished finished = run_process({ZT_BINARY, "inspect", data, "--json"});
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_EQ(nlohmann::json::parse(finished.output).at("dataset"), folder.path() + "/caf\xef\xbf\xbd");
}

}  // namespace
}  // namespace zoetrope
