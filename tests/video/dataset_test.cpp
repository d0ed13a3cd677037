// Data sets on disk: what was written is read back by ranges and by several threads, and every kind of damage
// is an error that names the file.
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "core/content_hash.h"
#include "core/files.h"
#include "core/rng.h"
#include "tests/support/small_dataset.h"
#include "video/store/dataset.h"
#include "video/store/dataset_writer.h"
#include "video/store/journal.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::SmallDataset;
using testing_support::TemporaryFolder;

TEST(Dataset, ReturnsWhatWasWritten) {
  const SmallDataset small;
  const Dataset dataset(small.folder());
  ASSERT_EQ(dataset.samples().size(), small.clips().size());
  EXPECT_EQ(dataset.features(), 768);
  for (size_t i = 0; i < small.clips().size(); ++i) {
    const Clip& clip = small.clips()[i];
    const DatasetSample& sample = dataset.samples()[i];
    EXPECT_EQ(sample.name, clip.name);
    EXPECT_EQ(sample.caption, "clip number " + std::to_string(i));
    EXPECT_EQ(sample.num_frames, clip.num_frames);
    EXPECT_EQ(dataset.lengths()[i], sample.num_tokens);
    const Clip back = dataset.read_clip(int64_t(i));
    EXPECT_TRUE(back.pixels == clip.pixels) << clip.name;
    ASSERT_EQ(back.sources.size(), clip.sources.size());
    for (size_t t = 0; t < clip.sources.size(); ++t) {
      EXPECT_EQ(back.sources[t].source_seconds, clip.sources[t].source_seconds);
      EXPECT_EQ(back.sources[t].source_index, clip.sources[t].source_index);
    }
  }
}

TEST(Dataset, ReadsAnyTokenRangeFromAnyThread) {
  const SmallDataset small;
  const Dataset dataset(small.folder());
  const auto read_some = [&](uint64_t seed) {
    for (int64_t turn = 0; turn < 100; ++turn) {
      const RandomKey key{seed, Purpose::kOrder, turn, 0};
      const int64_t sample = int64_t(key.words(0)[0] % dataset.samples().size());
      const int64_t count = dataset.samples()[size_t(sample)].num_tokens;
      const int64_t begin = int64_t(key.words(0)[1] % uint64_t(count + 1));
      const int64_t end = begin + int64_t(key.words(0)[2] % uint64_t(count - begin + 1));
      const Tensor rows = Tensor::empty({end - begin, dataset.features()}, DType::kU8);
      dataset.read_tokens(sample, begin, end, rows);
      const Tokens all = tokenize(small.clips()[size_t(sample)], dataset.patch());
      const uint8_t* expected = all.tokens.data<uint8_t>() + begin * dataset.features();
      ASSERT_TRUE(std::equal(expected, expected + rows.size(), rows.data<uint8_t>()))
          << sample << " " << begin << " " << end;
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 4; ++seed) threads.emplace_back(read_some, seed);
  for (std::thread& thread : threads) thread.join();
}

std::map<std::string, std::string> bytes_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    files[entry.path().filename()] = read_file(entry.path());
  return files;
}

TEST(Dataset, HasTheSameBytesEveryTime) {
  const SmallDataset first, second;
  EXPECT_TRUE(bytes_of(first.folder()) == bytes_of(second.folder()));
  EXPECT_EQ(Dataset(first.folder()).fingerprint(), Dataset(second.folder()).fingerprint());
  testing_support::SmallDatasetOptions other;
  other.seed = 2;
  EXPECT_NE(Dataset(first.folder()).fingerprint(), Dataset(SmallDataset(other).folder()).fingerprint());
}

/// Opens a data set that `damage` has touched; returns the message, "" when it opened and read.
std::string message_after(const std::function<void(const std::string&)>& damage) {
  const SmallDataset small;
  damage(small.folder());
  try {
    const Dataset dataset(small.folder());
    for (size_t i = 0; i < dataset.samples().size(); ++i) dataset.read_clip(int64_t(i));
  } catch (const Error& error) { return error.what(); }
  return "";
}

void change_byte(const std::string& path, size_t at) {
  std::string bytes = read_file(path);
  bytes[at] = char(bytes[at] ^ 0x10);
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Dataset, NamesWhatIsDamaged) {
  const auto remove = [](const char* file) {
    return [file](const std::string& folder) { fs::remove(folder + "/" + file); };
  };
  EXPECT_EQ(message_after([](const std::string&) {}), "");
  EXPECT_NE(message_after(remove("shard-00001.h5")).find("shard-00001.h5"), std::string::npos);
  EXPECT_NE(message_after(remove("manifest.jsonl")).find("manifest.jsonl"), std::string::npos);
  EXPECT_NE(message_after(remove("dataset.json")).find("dataset.json"), std::string::npos);
  EXPECT_NE(message_after([](const std::string& f) {
              fs::resize_file(f + "/shard-00002.h5", 5000);
            }).find("shard-00002.h5"),
            std::string::npos);
  EXPECT_NE(message_after([](const std::string& f) {
              change_byte(f + "/manifest.jsonl", 40);
            }).find("manifest.jsonl"),
            std::string::npos);
  EXPECT_NE(message_after([](const std::string& f) {
              fs::copy_file(f + "/shard-00000.h5", f + "/shard-00001.h5",
                            fs::copy_options::overwrite_existing);
            }).find("shard-00001.h5"),
            std::string::npos);
}

TEST(Dataset, NoticesAFlippedBitInThePayload) {
  const std::string message = message_after([](const std::string& folder) {
    const std::string path = folder + "/shard-00000.h5", bytes = read_file(path);
    const Tokens tokens = tokenize(testing_support::make_pattern_clip(1, 16, 24, 8, 1000), Patch{});
    const size_t at = bytes.find(std::string(reinterpret_cast<const char*>(tokens.tokens.raw()), 64));
    ASSERT_NE(at, std::string::npos);
    change_byte(path, at + 10);
    EXPECT_EQ(find_shard_damage(folder).size(), 1u);
  });
  EXPECT_NE(message.find("shard-00000.h5"), std::string::npos) << message;
}

TEST(DatasetWriter, GoesOnAfterACutAtAnyByteOfTheJournal) {
  const SmallDataset whole;
  const auto expected = bytes_of(whole.folder());
  DatasetRules rules;
  rules.shard_samples = 3;
  const auto write = [&](const std::string& folder, bool seal) {
    DatasetWriter writer(folder, rules);
    for (size_t i = writer.decided().size(); i < whole.clips().size(); ++i) {
      const Clip& clip = whole.clips()[i];
      ManifestEntry entry;
      entry.name = clip.name;
      entry.verdict = "kept";
      writer.append(entry, clip, "clip number " + std::to_string(i), tokenize(clip, rules.patch));
    }
    if (seal) writer.seal();
    return writer.decided().size();
  };
  const TemporaryFolder folder;
  write(folder.path(), false);
  const std::string journal = read_file(journal_path(folder.path()));
  const size_t first_line = journal.find('\n') + 1;
  for (size_t cut = first_line; cut <= journal.size(); cut += 61) {
    const TemporaryFolder copy;
    fs::copy(folder.path(), copy.path(), fs::copy_options::recursive);
    fs::resize_file(journal_path(copy.path()), cut);
    write(copy.path(), true);
    ASSERT_TRUE(bytes_of(copy.path()) == expected) << "journal cut at byte " << cut;
  }
}

TEST(DatasetWriter, RefusesOtherRulesForeignFoldersAndASecondWriter) {
  const TemporaryFolder folder;
  DatasetRules rules;
  {
    const DatasetWriter writer(folder.path(), rules);
    EXPECT_THROW(DatasetWriter(folder.path(), rules), Error);
  }
  EXPECT_NO_THROW(DatasetWriter(folder.path(), rules));
  rules.fps = 9;
  EXPECT_THROW(DatasetWriter(folder.path(), rules), Error);
  const TemporaryFolder foreign;
  std::ofstream(foreign.path() + "/thesis.doc") << "x";
  EXPECT_THROW(DatasetWriter(foreign.path(), rules), Error);
}

TEST(ContentHash, DoesNotDependOnThePiecesAndSeesEveryBit) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += char(i * 37);
  for (size_t size : {0, 1, 31, 32, 33, 64, 100}) {
    const std::string text = bytes.substr(0, size), hash = content_hash(text);
    for (size_t cut = 0; cut <= size; ++cut) {
      ContentHash pieces;
      pieces.add(text.substr(0, cut));
      pieces.add(text.substr(cut));
      ASSERT_EQ(hex64(pieces.value()), hash) << size << " cut at " << cut;
    }
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      std::string other = text;
      other[bit / 8] = char(other[bit / 8] ^ (1 << bit % 8));
      ASSERT_NE(content_hash(other), hash);
    }
  }
}

}  // namespace
}  // namespace zoetrope
