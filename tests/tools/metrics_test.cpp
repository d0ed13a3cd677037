#include "tools/metrics.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "tools/tensorboard.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

class MetricsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("zoetrope-metrics-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

StepMetrics step_of(int64_t step) {
  StepMetrics m;
  m.step = step;
  m.loss = 1.0 / 3.0;
  m.cp_sizes = {1, 2};
  return m;
}

TEST_F(MetricsTest, LineHoldsEveryNamedField) {
  const nlohmann::json line = nlohmann::json::parse(to_json_line(step_of(7)));
  for (const char* key : {"step", "loss", "grad_norm", "lr", "step_ms", "tokens", "tokens_per_s",
                          "gemm_share", "makespan_over_bound", "rank_max_over_mean", "cp_sizes", "peak_bytes",
                          "predicted_peak_bytes", "rss_bytes"})
    EXPECT_TRUE(line.contains(key)) << key;
  EXPECT_EQ(line["loss"].get<double>(), 1.0 / 3.0);
  EXPECT_TRUE(line["gemm_share"].is_null());
  EXPECT_EQ(line["cp_sizes"], nlohmann::json({1, 2}));
}

TEST_F(MetricsTest, ResumeShowsEachStepOnce) {
  {
    MetricsWriter first(folder_.string(), 0);
    for (int64_t step = 1; step <= 5; ++step) first.write(step_of(step));
  }
  std::ofstream(folder_ / "metrics.jsonl", std::ios::app) << "{\"step\":6,\"lo";  // torn by a crash
  {
    MetricsWriter second(folder_.string(), 3);
    second.write(step_of(4));
  }
  std::vector<int64_t> steps;
  std::ifstream file(folder_ / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) steps.push_back(nlohmann::json::parse(line)["step"]);
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3, 4}));
}

// Check value of CRC-32C in RFC 3720, B.4 (32 bytes of zeros) and the customary "123456789".
TEST(TensorBoard, ChecksumMatchesPublishedValues) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
}

TEST_F(MetricsTest, EventFileIsFramedRecords) {
  TensorBoardWriter(folder_.string()).scalar("loss", 300, 0.5);
  const std::string bytes = read_file(fs::directory_iterator(folder_)->path().string());
  size_t at = 0;
  std::vector<std::string> messages;
  while (at < bytes.size()) {
    uint64_t length = 0;
    ASSERT_LE(at + 12, bytes.size());
    std::memcpy(&length, bytes.data() + at, 8);
    ASSERT_LE(at + 16 + length, bytes.size());
    messages.push_back(bytes.substr(at + 12, length));
    at += 16 + length;
  }
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_NE(messages[0].find("brain.Event:2"), std::string::npos);
  EXPECT_NE(messages[1].find("loss"), std::string::npos);
  EXPECT_NE(messages[1].find(std::string("\x10\xac\x02", 3)), std::string::npos) << "step 300 as a varint";
}

TEST(StepLine, ShowsWhatARunIsDoing) {
  StepMetrics m = step_of(3);
  m.gemm_share = 0.5;
  const std::string line = to_text_line(m, 150, 61);
  for (const char* part : {"step 3/150", "loss 0.3333", "gemm 50%", "cp 1,2", "eta 1m01s"})
    EXPECT_NE(line.find(part), std::string::npos) << line;
}

TEST(StepLine, NamesBytesInPowersOf1024) {
  EXPECT_EQ(bytes_text(1023), "1023B");
  EXPECT_EQ(bytes_text(1536), "1.50K");
  EXPECT_EQ(bytes_text(int64_t(3) << 30), "3.00G");
}

}  // namespace
}  // namespace zoetrope
