// Memory, copies, streams and events of the CUDA device. On the emulated one host memory and device memory
// are apart too, and streams are queues that run when somebody waits, in any order that events allow.
#include <gtest/gtest.h>

#include <cstring>

#include "core/arena.h"
#include "core/device_backend.h"
#include "tests/cuda/devices.h"
#include "tests/support/op_tensors.h"

namespace zoetrope {
namespace {

using test::DeviceWish;
using test::random_matrix;
using test::start_devices;

/// A view of the same shape on the device; rows `padding` elements further apart than their width.
Tensor on_device(const Tensor& like, int64_t padding) {
  return Tensor::zeros({like.rows(), like.row_size() + padding}, like.dtype(), Device::kCuda)
      .columns(0, like.row_size());
}
void expect_equal(const Tensor& found, const Tensor& expected) {
  for (int64_t t = 0; t < expected.rows(); ++t)
    ASSERT_EQ(std::memcmp(found.row<float>(t), expected.row<float>(t), size_t(4 * expected.row_size())), 0)
        << "row " << t << " of " << expected.shape_text();
}

class Seeds : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override { start_devices({.order = GetParam()}); }
};
INSTANTIATE_TEST_SUITE_P(CudaDevice, Seeds, testing::Values(0, 1, 2));

TEST_P(Seeds, CopiesOfEveryStride) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{0, 3}, {1, 1}, {1, 7}, {5, 1}, {33, 31}})
    for (const int64_t from : {0, 3})
      for (const int64_t between : {0, 5})
        for (const int64_t to : {0, 2}) {
          SCOPED_TRACE(join_message("[", rows, ", ", columns, "] gaps ", from, " ", between, " ", to));
          const Tensor source = random_matrix(rows, columns, 1, DType::kF32, 1, 0, from);
          const Tensor back = random_matrix(rows, columns, 2, DType::kF32, 1, 0, to);
          const Tensor there = on_device(source, between), again = on_device(source, to);
          copy(there, source);
          copy(again, there);
          copy(back, again);
          expect_equal(back, source);
          fill_zero(again);
          const Tensor zeros = to_host(again);
          for (int64_t t = 0; t < rows; ++t)
            for (int64_t c = 0; c < columns; ++c) EXPECT_EQ(zeros.row<float>(t)[c], 0.0f);
          expect_equal(to_host(there), source);
        }
}

// The ring of page-locked memory comes round several times, with parts that don't divide it.
TEST_P(Seeds, UploadsMayBeLargerThanTheirStagingAndOverwrittenAtOnce) {
  for (const int64_t columns : {int64_t(3'000'001), int64_t(700'001)}) {
    const Tensor source = Tensor::empty({7, columns + 3}, DType::kF32).columns(0, columns);
    const Tensor there = on_device(source, 0);
    for (int64_t t = 0; t < source.rows(); ++t)
      for (int64_t c = 0; c < columns; ++c) source.row<float>(t)[c] = float(t * 1000 + c % 997);
    copy(there, source);
    fill_zero(source);
    const Tensor back = to_host(there);
    int64_t wrong = 0;
    for (int64_t t = 0; t < back.rows(); ++t)
      for (int64_t c = 0; c < columns; ++c) wrong += back.row<float>(t)[c] != float(t * 1000 + c % 997);
    EXPECT_EQ(wrong, 0) << "of " << back.shape_text();
  }
}

// A dense tensor is one row, so its stride is its size: here that of 8 GiB.
TEST_P(Seeds, ARowMayBelongToATensorAboveTwoGiB) {
  const Tensor source = random_matrix(1, 7, 1), there = on_device(source, 0), back = random_matrix(1, 7, 2);
  constexpr size_t kStride = size_t(8) << 30;
  const auto block = [](const Tensor& x) { return RowBlock{x.raw(), kStride, size_t(x.bytes()), 1}; };
  const DeviceBackend& backend = device_backend(Device::kCuda);
  const Stream stream(Device::kCuda);
  backend.copy_from_host(block(there), block(source), stream.handle());
  backend.copy_to_host(block(back), block(there), stream.handle());
  expect_equal(back, source);
}

TEST_P(Seeds, EventsOrderStreams) {
  const Tensor a = random_matrix(4, 50, 1), b = random_matrix(4, 50, 2);
  const Tensor x = on_device(a, 0), y = on_device(a, 0), z = on_device(a, 0);
  for (int round = 0; round < 5; ++round) {
    const Stream main(Device::kCuda), beside = Stream::beside(Device::kCuda),
                                      third = Stream::beside(Device::kCuda);
    Event filled, copied;
    copy(x, round % 2 ? a : b, main);
    filled.record(main);
    filled.wait(beside);
    copy(y, x, beside);
    copied.record(beside);
    copied.wait(third);
    copy(z, y, third);
    copied.wait(main);  // x may be filled again
    fill_zero(x, main);
    third.synchronize();
    EXPECT_TRUE(copied.complete());
    expect_equal(to_host(z), round % 2 ? a : b);
  }
}

TEST(CudaDevice, AnEventThatWasNeverRecordedIsComplete) {
  start_devices();
  const Event event;
  EXPECT_TRUE(event.complete());
  event.wait(Stream(Device::kCuda));
  event.synchronize();
}

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) { return error.what(); }
  return "no error";
}
void expect_error(const std::function<void()>& run, const std::vector<std::string>& parts) {
  const std::string text = error_of(run);
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(CudaDevice, SaysWhatIsMissing) {
  ZT_NEEDS_EMULATION("other drivers and GPUs than this machine's");
  DeviceWish options;
  options.count = 2;
  start_devices(options);
  EXPECT_EQ(device_count(Device::kCuda), 2);
  expect_error([] { select_device(Device::kCuda, 2); }, {"GPU 2", "has 2"});
  select_device(Device::kCuda, 1);
  EXPECT_EQ(device_info(Device::kCuda).index, 1);
  options.compute_major = 7;
  options.compute_minor = 5;
  start_devices(options);
  expect_error([] { select_device(Device::kCuda, 0); }, {"compute capability 7.5", "need 8.0"});
  options.driver_version = 12080;
  start_devices(options);
  expect_error([] { select_device(Device::kCuda, 0); },
               {"driver is too old", "supports CUDA 12.8", "built with CUDA 13.0"});
  options.driver_version = 0;
  start_devices(options);
  expect_error([] { select_device(Device::kCuda, 0); }, {"no NVIDIA driver"});
  options.driver_version = 13000;
  options.count = 0;
  start_devices(options);
  expect_error([] { select_device(Device::kCuda, 0); }, {"offers no GPU"});
}

TEST(CudaDevice, SaysHowMuchMemoryIsFree) {
  ZT_NEEDS_EMULATION("a GPU with 1 MiB of memory");
  DeviceWish options;
  options.capacity_bytes = 1 << 20;
  start_devices(options);
  const Tensor most = Tensor::empty({1 << 19}, DType::kU8, Device::kCuda);
  expect_error([] { Arena(600'000, Device::kCuda, "activations"); },
               {"out of GPU memory", "600000 bytes asked for", "of 1048576 are free on GPU 0"});
  EXPECT_EQ(device_info(Device::kCuda).free_bytes, (1 << 20) - (1 << 19));
}

}  // namespace
}  // namespace zoetrope
