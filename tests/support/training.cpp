#include "tests/support/training.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/files.h"

namespace zoetrope::testing_support {

namespace fs = std::filesystem;

std::vector<std::string> TrainingFixture::command(const std::string& run,
                                                  const std::vector<std::string>& more) const {
  std::vector<std::string> words{ZT_BINARY,
                                 "train",
                                 "--config",
                                 ZT_SOURCE_DIR "/configs/tiny.toml",
                                 "--data",
                                 data_.folder(),
                                 "--run",
                                 run,
                                 "--threads-per-rank",
                                 "1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<std::pair<std::string, std::string>> checkpoint_tensors(const std::string& folder) {
  ZT_REQUIRE(fs::exists(folder + "/DONE"), "'", folder, "' is no complete checkpoint");
  std::vector<std::pair<std::string, std::string>> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".safetensors")
      files.emplace_back(entry.path().filename(), read_file(entry.path()));
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<double> metric_column(const std::string& run, const std::string& name) {
  std::vector<double> values;
  std::ifstream file(run + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) values.push_back(nlohmann::json::parse(line).at(name));
  return values;
}

}  // namespace zoetrope::testing_support
