// Data sets that are damaged or not the run's: training ends on all ranks, naming file and sample.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/files.h"
#include "tests/support/training.h"
#include "video/store/dataset.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using namespace testing_support;

/// Flips a bit of the first occurrence of the bytes.
void spoil(const std::string& path, const std::string& bytes) {
  std::string content = read_file(path);
  const size_t at = content.find(bytes);
  ASSERT_NE(at, std::string::npos);
  content[at] = char(content[at] ^ 1);
  write_file_atomically(path, content);
}

TEST(TrainDataMisuse, ADamagedPayloadNamesFileAndSampleOnce) {
  const TrainingFixture fixture;
  const std::string shard = fixture.data().folder() + "/shard-00000.h5";
  std::string payload;
  {
    const Dataset dataset(fixture.data().folder());
    const Tensor row = Tensor::empty({1, dataset.features()}, DType::kU8);
    dataset.read_tokens(0, 0, 1, row);
    payload.assign(static_cast<const char*>(row.raw()), size_t(row.bytes()));
  }
  spoil(shard, payload);
  for (const std::string ranks : {"1", "2"}) {
    const Finished finished =
        fixture.train(fixture.run("damaged" + ranks), {"--ranks", ranks, "--steps", "8"});
    EXPECT_EQ(finished.exit_code, 3) << finished.output;
    for (const std::string& text :
         {std::string("error: "), shard, std::string("sample '"), std::string("can't read rows")})
      EXPECT_NE(finished.output.find(text), std::string::npos) << text << "\n" << finished.output;
    EXPECT_EQ(finished.output.find("HDF5-DIAG"), std::string::npos) << finished.output;
  }
}

TEST(TrainDataMisuse, ADamagedFileIsSaidOnceForAllRanks) {
  for (const std::string name : {"dataset.json", "manifest.jsonl", "shard-00000.h5"}) {
    const TrainingFixture fixture;
    const std::string path = fixture.data().folder() + "/" + name;
    write_file_atomically(path, read_file(path) + "{");
    const Finished finished = fixture.train(fixture.run("run"), {"--ranks", "3", "--steps", "1"});
    EXPECT_EQ(finished.exit_code, 3) << finished.output;
    const size_t at = finished.output.find("error: ");
    ASSERT_NE(at, std::string::npos) << finished.output;
    EXPECT_EQ(at, finished.output.rfind("error: ")) << finished.output;
    EXPECT_NE(finished.output.find("'" + path + "'", at), std::string::npos) << finished.output;
  }
}

TEST(TrainDataMisuse, ANonFiniteLossNamesStepSamplesAndClipsAndKeepsTheCheckpoint) {
  const TrainingFixture fixture;
  const std::string run = fixture.run("diverging");
  ASSERT_EQ(fixture.train(run, {"--steps", "1", "--learning-rate", "1e30"}).exit_code, 0);
  const auto before = checkpoint_tensors(run + "/checkpoints/step-000001");
  for (const std::string ranks : {"1", "2"}) {
    const Finished finished =
        fixture.train(run, {"--ranks", ranks, "--steps", "9", "--learning-rate", "1e30", "--resume", "auto"});
    EXPECT_EQ(finished.exit_code, 3) << finished.output;
    for (const std::string text : {"step 2: ", "(draw 4)", "; clips: clip-", "older one"})
      EXPECT_NE(finished.output.find(text), std::string::npos) << text << "\n" << finished.output;
    EXPECT_TRUE(checkpoint_tensors(run + "/checkpoints/step-000001") == before);
  }
}

TEST(TrainDataMisuse, AnotherPatchIsNamedByEveryCommandThatReadsData) {
  const TrainingFixture fixture;
  SmallDatasetOptions options;
  options.patch = {4, 16, 16};
  options.sizes = {{1, 16, 32}, {5, 32, 16}};
  const SmallDataset other(options);
  const std::string run = fixture.run("run"), config = ZT_SOURCE_DIR "/configs/tiny.toml";
  ASSERT_EQ(fixture.train(run, {"--steps", "1"}).exit_code, 0);
  const std::vector<std::vector<std::string>> commands{
      {"train", "--config", config, "--data", other.folder(), "--run", fixture.run("new")},
      {"heldout", "--run", run, "--data", other.folder(), "--train-data", other.folder()},
      {"bench", "cp", "--config", config, "--data", other.folder(), "--steps", "1"}};
  for (std::vector<std::string> words : commands) {
    words.insert(words.begin(), ZT_BINARY);
    const Finished finished = run_process(words);
    EXPECT_EQ(finished.exit_code, 3) << words[1] << ": " << finished.output;
    EXPECT_NE(
        finished.output.find("'" + other.folder() + "' was made with patch 4,16,16, the model has 4,8,8"),
        std::string::npos)
        << words[1] << ": " << finished.output;
  }
}

TEST(TrainDataMisuse, BatchesTooSmallToMeasureAskForACostFile) {
  SmallDatasetOptions options;
  options.sizes = {{1, 16, 16}, {1, 16, 32}};
  const SmallDataset images(options);
  std::vector<std::string> words{
      ZT_BINARY, "bench",         "cp",      "--config", ZT_SOURCE_DIR "/configs/tiny.toml",
      "--data",  images.folder(), "--batch", "1",        "--steps",
      "1"};
  const Finished asked = run_process(words);
  EXPECT_EQ(asked.exit_code, 3) << asked.output;
  EXPECT_NE(asked.output.find("give --cost FILE"), std::string::npos) << asked.output;
  words.insert(words.end(), {"--cost", "data-sheet"});
  const Finished given = run_process(words);
  EXPECT_EQ(given.exit_code, 0) << given.output;
}

}  // namespace
}  // namespace zoetrope
