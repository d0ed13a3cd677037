// Shards from elsewhere, made with HDF5 to harm: arrays that lie in other files, sizes that no memory holds,
// filters and kinds that ours never have. Each is refused before it is read.
#include <hdf5.h>

#include <gtest/gtest.h>
#include <filesystem>
#include <functional>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/store/shard.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::SmallDataset;
using testing_support::TemporaryFolder;

class HostileShard : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  /// Takes an array out of a sound shard, lets `plant` put another in its place, and opens it.
  std::string message_with(const std::string& array, const std::function<void(hid_t)>& plant) const {
    fs::copy_file(dataset_.folder() + "/shard-00000.h5", path("bad.h5"),
                  fs::copy_options::overwrite_existing);
    const hid_t file = H5Fopen(path("bad.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    EXPECT_GE(H5Ldelete(file, array.c_str(), H5P_DEFAULT), 0);
    plant(file);
    H5Fclose(file);
    try {
      ShardReader reader(path("bad.h5"));
    } catch (const Error& error) { return error.what(); }
    return "";
  }
  static void create(hid_t file, const char* name, hid_t type, std::vector<hsize_t> extents,
                     hid_t properties = H5P_DEFAULT) {
    const std::vector<hsize_t> unlimited(extents.size(), H5S_UNLIMITED);
    const bool grows = properties != H5P_DEFAULT && H5Pget_layout(properties) == H5D_CHUNKED;
    const hid_t space =
        H5Screate_simple(int(extents.size()), extents.data(), grows ? unlimited.data() : nullptr);
    const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    EXPECT_GE(dataset, 0) << name;
    H5Dclose(dataset);
    H5Sclose(space);
  }
  static hid_t chunked(std::vector<hsize_t> chunk) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, int(chunk.size()), chunk.data());
    return properties;
  }
  SmallDataset dataset_;
  TemporaryFolder folder_;
};

void expect_says(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
}

TEST_F(HostileShard, ArraysInOtherFilesAreNotRead) {
  testing_support::write_text(path("secret"), std::string(4096, 's'));
  expect_says(message_with("captions",
                           [&](hid_t file) {
                             const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
                             H5Pset_external(properties, path("secret").c_str(), 0, 4096);
                             create(file, "captions", H5T_STD_U8LE, {4096}, properties);
                             H5Pclose(properties);
                           }),
              "in other files");
  fs::copy_file(dataset_.folder() + "/shard-00001.h5", path("other.h5"));
  expect_says(message_with("grid",
                           [&](hid_t file) {
                             H5Lcreate_external(path("other.h5").c_str(), "grid", file, "grid", H5P_DEFAULT,
                                                H5P_DEFAULT);
                           }),
              "a link to elsewhere");
  expect_says(
      message_with("grid",
                   [&](hid_t file) { H5Lcreate_soft("/size", file, "grid", H5P_DEFAULT, H5P_DEFAULT); }),
      "a link to elsewhere");
  expect_says(message_with("fps",
                           [&](hid_t file) {
                             const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
                             const hsize_t extent = 3;
                             const hid_t space = H5Screate_simple(1, &extent, nullptr);
                             H5Pset_virtual(properties, space, path("other.h5").c_str(), "fps", space);
                             create(file, "fps", H5T_IEEE_F64LE, {3}, properties);
                             H5Sclose(space);
                             H5Pclose(properties);
                           }),
              "other arrays or files");
}

TEST_F(HostileShard, SizesAreCheckedBeforeAllocation) {
  const hsize_t huge = hsize_t(1) << 60;
  expect_says(message_with("grid",
                           [&](hid_t file) {
                             const hid_t properties = chunked({1024, 3});
                             create(file, "grid", H5T_STD_I64LE, {huge / 8, 3}, properties);
                             H5Pclose(properties);
                           }),
              "the whole file has");
  expect_says(message_with("names",
                           [&](hid_t file) {
                             const hid_t properties = chunked({4096});
                             create(file, "names", H5T_STD_U8LE, {hsize_t(1) << 40}, properties);
                             H5Pclose(properties);
                           }),
              "the whole file has");
  expect_says(message_with("tokens",
                           [&](hid_t file) {
                             const hid_t properties = chunked({1 << 20, 768});
                             create(file, "tokens", H5T_STD_U8LE, {1, 768}, properties);
                             H5Pclose(properties);
                           }),
              "chunks");
  expect_says(message_with("fps",
                           [&](hid_t file) {
                             create(file, "fps", H5T_IEEE_F64LE, {1, 1, 3});
                           }),
              "3 dimensions");
}

TEST_F(HostileShard, FiltersAndKindsAreThoseThatAreWritten) {
  expect_says(message_with("grid",
                           [&](hid_t file) {
                             const hid_t properties = chunked({1, 3});
                             H5Pset_deflate(properties, 9);
                             create(file, "grid", H5T_STD_I64LE, {3, 3}, properties);
                             H5Pclose(properties);
                           }),
              "filter");
  expect_says(message_with("captions",
                           [&](hid_t file) {
                             const hid_t type = H5Tcopy(H5T_C_S1);
                             H5Tset_size(type, H5T_VARIABLE);
                             create(file, "captions", type, {3});
                             H5Tclose(type);
                           }),
              "no plain numbers");
  expect_says(message_with("fps", [](hid_t) {}), "no array 'fps'");
}

}  // namespace
}  // namespace zoetrope
