// The checksum of chunks against the one that HDF5's own filter writes.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <random>
#include <vector>

#include "video/store/shard_checksum.h"

namespace zoetrope {
namespace {

/// What HDF5's filter appends to a chunk of these bytes.
uint32_t checksum_by_hdf5(const std::vector<uint8_t>& data) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_fapl_core(access, 1 << 16, false);
  const hid_t file = H5Fcreate("checksum", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hsize_t size = data.size(), begin = 0;
  H5Pset_chunk(creation, 1, &size);
  H5Pset_fletcher32(creation);
  const hid_t space = H5Screate_simple(1, &size, nullptr);
  const hid_t set = H5Dcreate2(file, "d", H5T_STD_U8LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  EXPECT_GE(H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()), 0);
  H5Dflush(set);
  std::vector<uint8_t> raw(data.size() + 4);
  uint32_t filters = 0, sum = 0;
  EXPECT_GE(H5Dread_chunk(set, H5P_DEFAULT, &begin, &filters, raw.data()), 0);
  for (size_t i = 0; i < 4; ++i) sum |= uint32_t(raw[data.size() + i]) << (8 * i);
  H5Dclose(set), H5Sclose(space), H5Fclose(file), H5Pclose(creation), H5Pclose(access);
  return sum;
}

TEST(ShardChecksum, IsThatOfHdf5) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (size_t size : {1, 2, 3, 31, 32, 33, 719, 720, 721, 8191, 8192, 8193, 65536, 70001, 1000000}) {
    std::vector<uint8_t> data(size);
    EXPECT_EQ(fletcher32(data.data(), size), checksum_by_hdf5(data)) << size << " zeros";
    for (uint8_t& byte : data) byte = 0xff;
    EXPECT_EQ(fletcher32(data.data(), size), checksum_by_hdf5(data)) << size << " bytes of ones";
    for (int round = 0; round < 3; ++round) {
      for (uint8_t& byte : data) byte = uint8_t(random());
      EXPECT_EQ(fletcher32(data.data(), size), checksum_by_hdf5(data))
          << size << " random bytes, seed " << seed;
    }
  }
}

}  // namespace
}  // namespace zoetrope
