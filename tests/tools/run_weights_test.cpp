// Checkpoints whose weights are not finite: every command that reads them says so, and computes nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/content_hash.h"
#include "core/files.h"
#include "model/checkpoint.h"
#include "tests/support/training.h"

namespace zoetrope {
namespace {

using namespace testing_support;

/// Puts the value into the last element of a tensor file and has DONE agree, as a training that diverged in
/// another program, or before a check of it, would leave both.
void plant(const std::string& checkpoint, const std::string& file, float value) {
  const std::string path = checkpoint + "/" + file, done = checkpoint + "/DONE";
  std::map<std::string, std::string> metadata;
  const std::vector<NamedTensor> tensors = read_safetensors(path, &metadata);
  const Tensor& last = tensors.back().flat;
  last.data<float>()[last.size() - 1] = value;
  write_safetensors(path, tensors, metadata);
  nlohmann::json json = nlohmann::json::parse(read_file(done));
  json["files"][file] = {{"bytes", std::filesystem::file_size(path)}, {"hash", file_content_hash(path)}};
  write_file_atomically(done, json.dump());
}

class RunWeights : public testing::Test {
 protected:
  void SetUp() override {
    const Finished finished = fixture_.train(run_, {"--steps", "1"});
    ASSERT_EQ(finished.exit_code, 0) << finished.output;
  }
  void expect_refused(std::vector<std::string> words, const std::string& file) const {
    words.insert(words.begin(), ZT_BINARY);
    const Finished finished = run_process(words);
    EXPECT_EQ(finished.exit_code, 3) << words[1] << ": " << finished.output;
    for (const std::string& text :
         {"error: '" + checkpoint_ + "/" + file + "', tensor '", std::string("not finite")})
      EXPECT_NE(finished.output.find(text), std::string::npos) << words[1] << ": " << text << "\n"
                                                               << finished.output;
  }
  std::vector<std::string> sample() const {
    return {"sample", "--run", run_, "--prompt", "x", "--size", "16x16", "--frames", "1", "--out", out_};
  }
  std::vector<std::string> heldout() const {
    return {"heldout",
            "--run",
            run_,
            "--data",
            fixture_.data().folder(),
            "--train-data",
            fixture_.data().folder()};
  }
  TrainingFixture fixture_;
  const std::string run_ = fixture_.run("run"), checkpoint_ = run_ + "/checkpoints/step-000001",
                    out_ = fixture_.run("a.mp4");
};

TEST_F(RunWeights, AveragesThatAreNotFiniteAreRefusedByAllThatReadThem) {
  for (const float value : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
    plant(checkpoint_, "ema.safetensors", value);
    expect_refused(sample(), "ema.safetensors");
    expect_refused(heldout(), "ema.safetensors");
    std::vector<std::string> resume = fixture_.command(run_, {"--steps", "2", "--resume", "auto"});
    resume.erase(resume.begin());
    expect_refused(resume, "ema.safetensors");
  }
  EXPECT_FALSE(std::filesystem::exists(out_));
  EXPECT_FALSE(std::filesystem::exists(run_ + "/checkpoints/step-000002"));
}

TEST_F(RunWeights, SoAreTheWeightsThemselvesAndMomentsOnResume) {
  std::filesystem::remove(checkpoint_ + "/ema.safetensors");
  nlohmann::json json = nlohmann::json::parse(read_file(checkpoint_ + "/DONE"));
  json["files"].erase("ema.safetensors");
  write_file_atomically(checkpoint_ + "/DONE", json.dump());
  plant(checkpoint_, "optimizer.safetensors", std::numeric_limits<float>::infinity());
  std::vector<std::string> words{ZT_BINARY};
  for (const std::string& word : heldout()) words.push_back(word);
  EXPECT_EQ(run_process(words).exit_code, 0) << "moments are not read";
  std::vector<std::string> resume =
      fixture_.command(run_, {"--steps", "2", "--resume", "auto", "--ema-decay", "0", "--change", "config"});
  resume.erase(resume.begin());
  expect_refused(resume, "optimizer.safetensors");
  plant(checkpoint_, "model.safetensors", std::nanf(""));
  expect_refused(sample(), "model.safetensors");
  expect_refused(heldout(), "model.safetensors");
}

}  // namespace
}  // namespace zoetrope
