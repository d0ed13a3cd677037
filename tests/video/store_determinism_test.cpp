// The bytes of a data set are a function of sources and options alone.
#include <hdf5.h>
#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <algorithm>
#include <filesystem>

#include "core/files.h"
#include "tests/support/media_folder.h"
#include "tests/support/small_dataset.h"
#include "video/ingest/ingest.h"
#include "video/ingest/merge.h"
#include "video/store/shard_file.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::folder_bytes;
using testing_support::folder_difference;
using testing_support::TemporaryFolder;

class Bytes : public testing::Test {
 protected:
  void SetUp() override { testing_support::make_media_folder(at("source"), 11); }
  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }
  void run(const std::string& source, const std::string& name, int64_t workers, PartNumber part = {}) const {
    IngestRequest request;
    request.source = source;
    request.dataset = at(name);
    request.workers = workers;
    request.decode.size.area = 32 * 24;
    request.shard_samples = 3;
    request.part = part;
    ingest(request, [](const IngestProgress&) {});
  }
  TemporaryFolder folder_;
};

TEST_F(Bytes, DoNotDependOnWorkersPlaceOrderTimesOrParts) {
  run(at("source"), "one", 1);
  for (const int64_t workers : {2, 5, 64}) {
    run(at("source"), "w" + std::to_string(workers), workers);
    EXPECT_EQ(folder_difference(at("one"), at("w" + std::to_string(workers))), "") << workers;
  }
  // The same files elsewhere, made in reverse order, at another time, named relative to the current folder.
  const TemporaryFolder elsewhere;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(at("source"))) files.push_back(entry.path());
  std::sort(files.rbegin(), files.rend());
  const std::string copy = elsewhere.path() + "/another place/with a longer name";
  fs::create_directories(copy);
  for (const fs::path& file : files) {
    fs::copy_file(file, copy + "/" + file.filename().string());
    fs::last_write_time(copy + "/" + file.filename().string(), fs::file_time_type{});
  }
  run(copy, "elsewhere", 3);
  EXPECT_EQ(folder_difference(at("one"), at("elsewhere")), "");
  run(fs::relative(copy).string(), "relative", 3);
  EXPECT_EQ(folder_difference(at("one"), at("relative")), "");
  for (const int64_t count : {2, 4}) {
    std::vector<std::string> parts;
    for (int64_t i = 1; i <= count; ++i) {
      parts.push_back(at("p" + std::to_string(count) + std::to_string(i)));
      run(i % 2 == 0 ? copy : at("source"), fs::path(parts.back()).filename(), 1 + i, {i, count});
    }
    merge_parts(at("merged" + std::to_string(count)), parts, [](const MergeProgress&) {});
    EXPECT_EQ(folder_difference(at("one"), at("merged" + std::to_string(count))), "") << count << " parts";
  }
}

TEST_F(Bytes, HoldNoPlaceHostUserOrNumberOfWorkers) {
  run(at("source"), "data", 37);
  run(at("source"), "part", 37, {1, 2});
  utsname host;
  ASSERT_EQ(uname(&host), 0);
  std::vector<std::string> secrets = {folder_.path(), fs::path(folder_.path()).filename().string(),
                                      fs::current_path().string(), "\"workers\"", "/source"};
  if (std::string(host.nodename).size() >= 5) secrets.push_back(host.nodename);
  const passwd* user = getpwuid(getuid());
  if (user != nullptr && std::string(user->pw_name).size() >= 5) secrets.push_back(user->pw_name);
  for (const char* folder : {"data", "part"})
    for (const auto& [name, bytes] : folder_bytes(at(folder)))
      for (const std::string& secret : secrets)
        EXPECT_EQ(bytes.find(secret), std::string::npos) << name << " holds '" << secret << "'";
}

/// When an object was made or changed, 0 when its header doesn't say.
int64_t time_of(hid_t file, const char* name) {
  H5G_stat_t info = {};
  EXPECT_GE(H5Gget_objinfo(file, name, true, &info), 0);
  return int64_t(info.mtime);
}

herr_t check_object(hid_t file, const char* name, const H5L_info_t*, void* count) {
  const hid_t object = H5Dopen2(file, name, H5P_DEFAULT), properties = H5Dget_create_plist(object);
  EXPECT_EQ(time_of(file, name), 0) << name << " has a time";
  if (std::string(name) == "tokens") {
    hsize_t chunk[2] = {0, 0};
    EXPECT_EQ(H5Pget_chunk(properties, 2, chunk), 2);
    // Of 256 KiB to 4 MiB, up to what whole rows leave.
    EXPECT_GT(int64_t((chunk[0] + 1) * chunk[1]), 256 << 10);
    EXPECT_LE(int64_t(chunk[0] * chunk[1]), 4 << 20);
    EXPECT_EQ(H5Pget_nfilters(properties), 1) << "checksums";
  }
  H5Pclose(properties);
  H5Dclose(object);
  ++*static_cast<int*>(count);
  return 0;
}

TEST_F(Bytes, HaveNoTimesAndChunksOfTheRightSize) {
  run(at("source"), "data", 2);
  const hid_t file = H5Fopen(at("data/shard-00000.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  ASSERT_GE(file, 0);
  int count = 0;
  EXPECT_GE(H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, nullptr, check_object, &count), 0);
  EXPECT_GE(count, 15);
  H5Fclose(file);
  // Objects made the way that HDF5 makes them by itself have a time.
  const hid_t other = H5Fcreate(at("other.h5").c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate(H5S_SCALAR);
  H5Dclose(H5Dcreate2(other, "one", H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  EXPECT_GT(time_of(other, "one"), 0);
  H5Sclose(space);
  H5Fclose(other);
}

}  // namespace
}  // namespace zoetrope
