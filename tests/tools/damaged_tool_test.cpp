// Damaged and late clips as a user meets them: exit codes, messages, what is sealed.
#include <gtest/gtest.h>
#include <filesystem>

#include "core/files.h"
#include "tests/support/damage.h"
#include "tests/support/media.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::Finished;
using testing_support::run_ffmpeg;
using testing_support::run_process;
using testing_support::TemporaryFolder;
using testing_support::write_text;

class DamagedTool : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(path("clips"));
    for (const char* name : {"a", "c"})
      run_ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=1 -c:v libx264 -g 5 " + clip(name));
    std::string bytes = read_file(clip("a"));
    testing_support::scramble(bytes, 30, 32);
    write_text(clip("b"), bytes);
    for (const char* name : {"a", "b", "c"}) write_text(path("clips/") + name + ".txt", "caption");
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string clip(const std::string& name) const { return path("clips/" + name + ".mp4"); }
  Finished ingest(const std::string& name, std::vector<std::string> words = {}) const {
    words.insert(words.begin(), {ZT_BINARY, "ingest", path("clips"), path(name)});
    return run_process(words);
  }
  TemporaryFolder folder_;
};

TEST_F(DamagedTool, ExitCodesOfThePolicies) {
  const Finished kept = ingest("kept"), dropped = ingest("dropped", {"--damaged", "drop"}),
                 failed = ingest("failed", {"--damaged", "fail"});
  EXPECT_EQ(kept.exit_code, 1) << kept.output;
  EXPECT_NE(kept.output.find("warning: b.mp4: decode errors"), std::string::npos) << kept.output;
  EXPECT_EQ(dropped.exit_code, 1) << dropped.output;
  EXPECT_NE(dropped.output.find("b.mp4 refused: damaged, and dropped"), std::string::npos) << dropped.output;
  EXPECT_EQ(failed.exit_code, 3) << failed.output;
  EXPECT_NE(failed.output.find("error: 'b.mp4' is damaged: "), std::string::npos) << failed.output;
  EXPECT_FALSE(fs::exists(path("failed/manifest.jsonl")));
  EXPECT_EQ(ingest("x", {"--damaged", "guess"}).exit_code, 2);
  fs::remove(clip("b"));
  fs::remove(path("clips/b.txt"));
  EXPECT_EQ(ingest("sound", {"--damaged", "fail"}).exit_code, 0);
}

TEST_F(DamagedTool, ARunWithLateClipsIsNotFinished) {
  fs::remove(clip("b"));
  fs::remove(path("clips/b.txt"));
  ASSERT_EQ(ingest("whole").exit_code, 0);
  const Finished late = ingest("data", {"--clip-seconds", "1e-9"});
  EXPECT_EQ(late.exit_code, 3) << late.output;
  EXPECT_NE(late.output.find("a.mp4 undecided: the watchdog stopped it"), std::string::npos) << late.output;
  EXPECT_NE(late.output.find("is not finished: 2 clips are undecided"), std::string::npos) << late.output;
  EXPECT_EQ(ingest("data", {"--clip-seconds", "0"}).exit_code, 2);
  EXPECT_EQ(ingest("data").exit_code, 0);
  for (const auto& entry : fs::directory_iterator(path("whole")))
    EXPECT_TRUE(read_file(entry.path()) == read_file(path("data/" + entry.path().filename().string())))
        << entry.path();
}

}  // namespace
}  // namespace zoetrope
