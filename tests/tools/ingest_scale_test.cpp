// Many small files: memory that doesn't grow with what is written, time that grows with their number and not
// faster, more workers than files.
#include <gtest/gtest.h>
#include <cstdio>
#include <filesystem>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/media_folder.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::Finished;
using testing_support::run_process;
using testing_support::TemporaryFolder;

/// Many names of one small picture.
void make_pictures(const std::string& folder, int count) {
  testing_support::write_text(folder + "/0/00000.png", testing_support::tiny_png());
  for (int i = 1; i < count; ++i) {
    char name[40];
    std::snprintf(name, sizeof name, "/%d/%05d.png", i / 1000, i);
    if (i % 1000 == 0) fs::create_directories(fs::path(folder + name).parent_path());
    fs::create_hard_link(folder + "/0/00000.png", folder + name);
  }
}

int64_t size_of(const std::string& folder, const std::string& prefix) {
  int64_t size = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(prefix)) size += int64_t(entry.file_size());
  return size;
}

TEST(IngestScale, TenTimesTheFilesCostTenTimesTheTimeAndNoMemory) {
  const TemporaryFolder folder;
  Finished runs[2];
  int64_t payload[2] = {}, lines[2] = {};
  const int counts[2] = {1000, 10000};
  for (int i = 0; i < 2; ++i) {
    const std::string source = folder.path() + "/source" + std::to_string(i);
    const std::string data = folder.path() + "/data" + std::to_string(i);
    make_pictures(source, counts[i]);
    runs[i] = run_process({ZT_BINARY, "ingest", source, data, "--area", "4096", "--patch", "1,8,8",
                           "--missing-caption", "empty", "--picture-folders", "pictures", "--shard-samples",
                           "100", "--workers", "2"});
    ASSERT_EQ(runs[i].exit_code, 0) << runs[i].output;
    payload[i] = size_of(data, "shard-");
    lines[i] = size_of(data, "manifest");
    std::printf(
        "%d pictures: %.2f s of processor time, %lld KiB at most; %lld KiB of shards, %lld of manifest\n",
        counts[i], runs[i].cpu(), static_cast<long long>(runs[i].peak_bytes >> 10),
        static_cast<long long>(payload[i] >> 10), static_cast<long long>(lines[i] >> 10));
  }
  // Linear is 10, a step that visits all files for each file tends to 100; their geometric mean is between.
  EXPECT_LT(runs[1].cpu() / runs[0].cpu(), 31.6);
  // Lines may stay in memory: plan, inventory, paths, entries, journal and manifest, each about as long as
  // the lines of the manifest or shorter. Payload may not.
  const int64_t growth = runs[1].peak_bytes - runs[0].peak_bytes, more_lines = lines[1] - lines[0];
  EXPECT_LT(growth, 6 * more_lines) << "payload grew by " << payload[1] - payload[0];
}

TEST(IngestScale, MoreWorkersThanFiles) {
  const TemporaryFolder folder;
  testing_support::make_media_folder(folder.path() + "/source", 3);
  for (const char* workers : {"1", "200"})
    EXPECT_EQ(run_process({ZT_BINARY, "ingest", folder.path() + "/source", folder.path() + "/" + workers,
                           "--workers", workers})
                  .exit_code,
              1);
  EXPECT_EQ(testing_support::folder_difference(folder.path() + "/1", folder.path() + "/200"), "");
}

}  // namespace
}  // namespace zoetrope
