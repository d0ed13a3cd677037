#include "model/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/files.h"
#include "tests/support/small_dataset.h"
#include "tests/support/whole_model.h"

namespace zoetrope::test {
namespace {

namespace fs = std::filesystem;

void overwrite(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// What the reader of the format says of a file by itself.
std::string read_error(const std::string& path) {
  try {
    read_safetensors(path);
  } catch (const Error& error) { return error.what(); }
  return "";
}

class CheckpointTest : public testing::Test {
 protected:
  std::string save(int64_t step) {
    save_checkpoint(folder_.path(), {step, "{\"a\": 1}"}, model_.parameters, model_.optimizer.first(),
                    model_.optimizer.second(), model_.optimizer.ema());
    return list_checkpoints(folder_.path()).back();
  }
  std::string load_error(const std::string& folder) {
    try {
      load_checkpoint(folder, model_.parameters, model_.optimizer.first(), model_.optimizer.second(),
                      model_.optimizer.ema());
    } catch (const Error& error) { return error.what(); }
    return "";
  }
  WholeModel model_{WholeModel::Backend::kCpu, awkward_config()};
  testing_support::TemporaryFolder folder_;
};

TEST_F(CheckpointTest, ComesBackBitEqual) {
  for (int64_t i = 0; i < model_.parameters.count(); ++i) {
    model_.optimizer.first().data<float>()[i] = normal({1, Purpose::kSampling, 1, i});
    model_.optimizer.second().data<float>()[i] = normal({1, Purpose::kSampling, 2, i});
    model_.optimizer.ema().data<float>()[i] = normal({1, Purpose::kSampling, 3, i});
  }
  const std::string folder = save(20);
  EXPECT_TRUE(folder.ends_with("checkpoints/step-000020")) << folder;
  std::vector<Tensor> buffers{model_.parameters.values(), model_.optimizer.first(), model_.optimizer.second(),
                              model_.optimizer.ema()},
      before;
  for (const Tensor& buffer : buffers) {
    before.push_back(Tensor::empty({buffer.rows()}, buffer.dtype()));
    copy(before.back(), buffer);
    fill_zero(buffer);
  }
  EXPECT_EQ(load_error(folder), "");
  for (size_t i = 0; i < buffers.size(); ++i)
    EXPECT_EQ(std::memcmp(buffers[i].raw(), before[i].raw(), size_t(buffers[i].bytes())), 0) << i;
  EXPECT_EQ(read_checkpoint_state(folder).state_json, "{\"a\": 1}");
  EXPECT_EQ(read_checkpoint_state(folder).step, 20);
}

// One NaN or infinity in any buffer: nothing is written, and the error names the file and the tensor.
TEST_F(CheckpointTest, ValuesThatAreNotFiniteAreNotSaved) {
  const std::vector<std::pair<std::string, Tensor>> buffers{
      {"model.safetensors', tensor '", model_.parameters.values()},
      {"optimizer.safetensors', tensor 'first.", model_.optimizer.first()},
      {"optimizer.safetensors', tensor 'second.", model_.optimizer.second()},
      {"ema.safetensors', tensor '", model_.optimizer.ema()}};
  for (const auto& [said, buffer] : buffers)
    for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
      float& element = buffer.data<float>()[buffer.size() - 1];
      const float before = element;
      element = bad;
      try {
        save(1);
        ADD_FAILURE() << said << " was saved with " << bad;
      } catch (const Error& error) {
        for (const std::string& text : {"step-000001/" + said, std::string("not finite, so it is not saved")})
          EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
      }
      element = before;
    }
  EXPECT_TRUE(list_checkpoints(folder_.path()).empty());
  save(1);
}

TEST_F(CheckpointTest, UnfinishedOnesAreNotListedAndSavedAgain) {
  save(1);
  save(2);
  fs::create_directories(folder_.path() + "/checkpoints/step-000003.partial");
  fs::create_directories(folder_.path() + "/checkpoints/step-000004");  // no DONE
  EXPECT_EQ(list_checkpoints(folder_.path()).size(), 2u);
  save(3);
  save(2);  // replaces the earlier one
  const std::vector<std::string> all = list_checkpoints(folder_.path());
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all.back().ends_with("step-000003"));
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path() + "/checkpoints"))
    EXPECT_NE(entry.path().extension(), ".partial") << entry.path();
}

TEST_F(CheckpointTest, AnotherModelIsRefusedByName) {
  const std::string folder = save(5);
  ModelConfig other = awkward_config();
  other.ffn = 24;
  WholeModel wider(WholeModel::Backend::kCpu, other);
  try {
    load_weights(folder, wider.parameters, false);
    FAIL() << "loaded";
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const char* part : {"model.safetensors", "ffn.0", "[20, 12]", "[24, 12]"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

// Any cut and any flipped byte of the header is an error that names the file, never a crash or a silent load.
TEST_F(CheckpointTest, DamagedFilesAreErrors) {
  const std::string folder = save(5), path = folder + "/model.safetensors", whole = read_file(path);
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  uint64_t header = 0;
  std::memcpy(&header, whole.data(), sizeof header);
  for (int trial = 0; trial < 200; ++trial) {
    std::string bad = whole;
    if (trial % 2 == 0) bad.resize(random() % whole.size());
    else bad[random() % 8] ^= char(1 + random() % 255);  // the header's length
    overwrite(path, bad);
    for (const std::string& error : {load_error(folder), read_error(path)})
      EXPECT_NE(error.find("model.safetensors"), std::string::npos) << "trial " << trial << ": " << error;
  }
  for (int trial = 0; trial < 300;
       ++trial) {  // bytes of the header: an error, or the same content in other words
    std::string bad = whole;
    bad[8 + random() % header] ^= char(1 + random() % 255);
    overwrite(path, bad);
    read_error(path);
    EXPECT_NE(load_error(folder), "") << "trial " << trial;
  }
  overwrite(path, whole);
  EXPECT_EQ(load_error(folder), "");
  fs::remove(folder + "/DONE");
  EXPECT_NE(load_error(folder).find("DONE"), std::string::npos);
}

// One changed bit anywhere, a lost file, or one of another step: an error that names the file.
TEST_F(CheckpointTest, EveryFileIsTheOneThatWasSaved) {
  const std::string older = save(4), folder = save(5);
  std::mt19937_64 random(5);
  for (const std::string name : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    const std::string path = folder + "/" + name, whole = read_file(path);
    for (int trial = 0; trial < 20; ++trial) {
      std::string bad = whole;
      bad[random() % bad.size()] ^= char(1 << random() % 8);
      overwrite(path, bad);
      const std::string error = load_error(folder);
      for (const std::string& text : {path, std::string("DONE says"), std::string("older")})
        EXPECT_NE(error.find(text), std::string::npos) << error;
    }
    fs::remove(path);
    EXPECT_NE(load_error(folder).find(path), std::string::npos) << load_error(folder);
    overwrite(path, whole);
    EXPECT_EQ(load_error(folder), "");
  }
  fs::copy_file(older + "/model.safetensors", folder + "/model.safetensors",
                fs::copy_options::overwrite_existing);
  EXPECT_NE(load_error(folder).find("model.safetensors"), std::string::npos) << load_error(folder);
  overwrite(folder + "/DONE", "");
  EXPECT_NE(load_error(folder).find("DONE"), std::string::npos) << load_error(folder);
}

}  // namespace
}  // namespace zoetrope::test
