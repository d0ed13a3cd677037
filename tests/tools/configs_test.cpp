// Every file in configs/ loads, holds a model whose sizes fit, and survives being saved.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/options.h"
#include "tools/train_config.h"

namespace zoetrope {
namespace {

TEST(Configs, EachLoadsAndSavesTheSame) {
  int64_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ZT_SOURCE_DIR "/configs")) {
    if (entry.is_directory()) continue;  // hardware/, which hardware_files_test.cpp reads
    SCOPED_TRACE(entry.path().string());
    TrainConfig config, back;
    OptionSet set, back_set;
    config.add_to(set);
    back.add_to(back_set);
    load_toml(set, entry.path().string());
    config.model.validate();
    const std::string saved = dump_toml(set);
    load_toml_text(back_set, saved, "saved");
    EXPECT_EQ(dump_toml(back_set), saved);
    ++files;
  }
  EXPECT_GE(files, 3);
}

}  // namespace
}  // namespace zoetrope
