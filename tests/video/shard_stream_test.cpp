// Clips that go into a shard while they are decoded: the file's bytes tell nothing of it, nor of clips that
// were taken back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include "core/files.h"
#include "tests/support/small_dataset.h"
#include "video/store/shard.h"

namespace zoetrope {
namespace {

constexpr int64_t kSide = 64, kFeatures = 3 * 4 * 8 * 8, kRows = kSide / 8 * (kSide / 8);
constexpr int64_t kChunkRows = kChunkBytes / kFeatures;

struct TestClip {
  Clip clip;
  Tokens tokens;
};

class ShardStreams : public testing::Test {
 protected:
  int64_t below(int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random_); }

  TestClip make_clip(int64_t time_rows) {
    TestClip out{{}, {{time_rows, kSide / 8, kSide / 8}, random_rows(time_rows * kRows)}};
    out.clip.name = "clip " + std::to_string(random_());
    out.clip.num_frames = frames_of_grid(time_rows, Patch{});
    out.clip.height = out.clip.width = kSide;
    out.clip.fps = 8;
    out.clip.sources.resize(size_t(out.clip.num_frames));
    return out;
  }
  Tensor random_rows(int64_t rows) {
    const Tensor out = Tensor::empty({rows, kFeatures}, DType::kU8);
    std::generate_n(out.data<uint8_t>(), out.bytes(), [&] { return uint8_t(random_()); });
    return out;
  }
  /// In pieces of any size, and reads the first of them.
  void put(ShardStream& stream, const Tensor& rows) {
    for (int64_t begin = 0; begin < rows.rows();) {
      const int64_t end = std::min(rows.rows(), begin + 1 + below(2 * kChunkRows));
      stream.put(rows.slice_rows(begin, end));
      begin = end;
      if (below(4) > 0) continue;
      const Tensor read = Tensor::empty({1 + below(end), kFeatures}, DType::kU8);
      stream.read_back(read);
      EXPECT_EQ(std::memcmp(read.raw(), rows.raw(), size_t(read.bytes())), 0);
    }
  }
  /// A clip that is taken back.
  void put_in_vain(ShardWriter& writer, int64_t rows) { put(*writer.stream(), random_rows(rows)); }

  std::string bytes_of(ShardWriter& writer) const {
    FinishedImage image = writer.finish();
    image.file->commit();
    return read_file(path());
  }
  std::string path() const { return folder_.path() + "/shard.h5"; }

  std::mt19937_64 random_;
  testing_support::TemporaryFolder folder_;
};

TEST_F(ShardStreams, LeaveTheBytesOfClipsThatWereHeld) {
  const uint64_t seed = std::random_device{}();
  random_.seed(seed);
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << round);
    std::vector<TestClip> clips;
    for (int64_t i = below(4); i >= 0; --i) clips.push_back(make_clip(1 + below(30)));
    ShardWriter writer{Patch{}};
    writer.begin(path());
    for (const TestClip& each : clips) writer.append(each.clip, "caption", each.tokens);
    const std::string expected = bytes_of(writer);
    writer.begin(path());
    for (const TestClip& each : clips) {
      for (int64_t i = below(3); i > 0; --i) put_in_vain(writer, below(5 * kChunkRows));
      if (below(3) == 0) {
        writer.append(each.clip, "caption", each.tokens);
        continue;
      }
      const auto stream = writer.stream();
      put(*stream, each.tokens.tokens);
      writer.append(each.clip, "caption", *stream);
    }
    // HDF5's tree of chunks has a second level from 64 of them on.
    if (round > 0) put_in_vain(writer, round * 40 * kChunkRows);
    EXPECT_TRUE(bytes_of(writer) == expected);
  }
}

TEST_F(ShardStreams, AShardWithoutClipsLeavesNoFile) {
  ShardWriter writer{Patch{}};
  writer.begin(path());
  put_in_vain(writer, 3 * kChunkRows);
  writer.give_up();
  EXPECT_FALSE(writer.has_begun());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

}  // namespace
}  // namespace zoetrope
