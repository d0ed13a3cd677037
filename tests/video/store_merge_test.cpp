// Parts that several machines make, joined: the bytes of a single ingest for any number of parts; parts that
// don't fit together are refused by name.
#include <gtest/gtest.h>
#include <filesystem>
#include <functional>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/media_folder.h"
#include "tests/support/small_dataset.h"
#include "video/ingest/ingest.h"
#include "video/ingest/merge.h"
#include "video/store/dataset.h"
#include "video/store/journal.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::folder_bytes;
using testing_support::folder_difference;
using testing_support::make_media_folder;
using testing_support::TemporaryFolder;
using testing_support::write_text;

TEST(Part, IsReadFromItsText) {
  EXPECT_EQ(parse_part("2/4"), (PartNumber{2, 4}));
  EXPECT_EQ(part_text(parse_part("1/1")), "1/1");
  for (const char* bad : {"", "2", "0/4", "5/4", "2/0", "-1/4", "2/4x", "a/b", "2/ 4", "2/4/5", "1/99999999"})
    EXPECT_THROW(parse_part(bad), UsageError) << bad;
}

TEST(Part, SlicesFollowEachOtherAndHoldAboutTheSameBytes) {
  std::vector<int64_t> bytes;
  for (int64_t i = 0; i < 1000; ++i) bytes.push_back(i % 10 == 0 ? -1 : (i * 7919) % 1000 << 12);
  bytes[500] = 1 << 30;  // a film, bigger than all others together
  for (const int64_t count : {1, 2, 3, 7, 64, 999, 1001, 5000}) {
    size_t end = 0;
    for (int64_t i = 1; i <= count; ++i) {
      const Slice slice = slice_of_part(bytes, {i, count});
      ASSERT_EQ(slice.begin, end) << i << " of " << count;
      ASSERT_GE(slice.end, slice.begin);
      end = slice.end;
    }
    EXPECT_EQ(end, bytes.size()) << count;
  }
  bytes[500] = 0;
  double total = 0, largest = 0, most = 0;
  for (int64_t each : bytes) {
    const double weight = double(std::max<int64_t>(each, 0) + (64 << 10));
    total += weight;
    largest = std::max(largest, weight);
  }
  for (int64_t i = 1; i <= 7; ++i) {
    const Slice slice = slice_of_part(bytes, {i, 7});
    double sum = 0;
    for (size_t k = slice.begin; k < slice.end; ++k)
      sum += double(std::max<int64_t>(bytes[k], 0) + (64 << 10));
    most = std::max(most, sum);
  }
  EXPECT_LE(most, total / 7 + largest) << "a boundary is off by half a file at either end";
}

class Merging : public testing::Test {
 protected:
  void SetUp() override { make_media_folder(source(), 13); }
  std::string source() const { return folder_.path() + "/source"; }
  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }
  IngestRequest request(const std::string& name, PartNumber part = {}) const {
    IngestRequest out;
    out.source = source();
    out.dataset = at(name);
    out.workers = 2;
    out.decode.size.area = 32 * 24;
    out.shard_samples = 3;
    out.part = part;
    return out;
  }
  IngestResult run(const IngestRequest& request) const {
    return ingest(request, [](const IngestProgress&) {});
  }
  std::string make_part(int64_t index, int64_t count) const {
    const std::string name = "part" + std::to_string(index) + "of" + std::to_string(count);
    run(request(name, {index, count}));
    return at(name);
  }
  std::vector<std::string> make_parts(int64_t count) const {
    std::vector<std::string> parts;
    for (int64_t i = 1; i <= count; ++i) parts.push_back(make_part(i, count));
    return parts;
  }
  MergeResult merge(const std::string& name, const std::vector<std::string>& parts) const {
    return merge_parts(at(name), parts, [](const MergeProgress&) {});
  }
  std::string message_of(const std::vector<std::string>& parts, const std::string& name = "merged") const {
    try {
      merge(name, parts);
    } catch (const Error& error) { return error.what(); }
    return "";
  }
  void expect_in(const std::string& text, const std::string& part) const {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' in: " << text;
  }
  TemporaryFolder folder_;
};

TEST_F(Merging, GivesTheBytesOfASingleIngestForAnyNumberOfParts) {
  run(request("whole"));
  for (const int64_t count : {1, 2, 3, 5, 20}) {
    std::vector<std::string> parts = make_parts(count);
    std::rotate(parts.begin(), parts.begin() + int64_t(parts.size()) / 2, parts.end());  // any order
    std::vector<std::map<std::string, std::string>> before;
    for (const std::string& part : parts) before.push_back(folder_bytes(part));
    const std::string name = "merged" + std::to_string(count);
    const MergeResult result = merge(name, parts);
    EXPECT_EQ(result.entries.size(), 14u);
    EXPECT_EQ(folder_difference(at("whole"), at(name)), "") << count << " parts";
    EXPECT_TRUE(merge(name, parts).was_complete);
    for (size_t i = 0; i < parts.size(); ++i) EXPECT_TRUE(folder_bytes(parts[i]) == before[i]) << parts[i];
    EXPECT_TRUE(run(request(name)).was_complete) << "a later ingest takes it as its own";
  }
}

TEST_F(Merging, JoinsTheScenesThatEachPartFoundInItsOwnSources) {
  const auto with_scenes = [&](const std::string& name, PartNumber part) {
    IngestRequest out = request(name, part);
    out.analysis.scenes = SceneDetector::kContent;
    return out;
  };
  run(with_scenes("whole", {}));
  const std::string all = read_file(at("whole/scenes.jsonl"));
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_GE(lines(all), 12);
  for (const int64_t count : {2, 20}) {
    std::vector<std::string> parts;
    std::string joined;
    for (int64_t i = 1; i <= count; ++i) {
      const std::string name = "scenes" + std::to_string(i) + "of" + std::to_string(count);
      run(with_scenes(name, {i, count}));
      const std::string own = read_file(at(name + "/scenes.jsonl"));
      EXPECT_LT(lines(own), lines(all)) << "a part searches its own sources alone";
      joined += own;
      parts.push_back(at(name));
    }
    EXPECT_EQ(joined, all);
    const std::string name = "merged" + std::to_string(count);
    merge(name, parts);
    EXPECT_EQ(folder_difference(at("whole"), at(name)), "");
    EXPECT_TRUE(run(with_scenes(name, {})).was_complete) << "a later ingest takes it as its own";
  }
}

TEST_F(Merging, NamesAPartWhoseScenesAreDamaged) {
  std::vector<std::string> parts;
  for (int64_t i : {1, 2}) {
    IngestRequest part = request("part" + std::to_string(i), {i, 2});
    part.analysis.scenes = SceneDetector::kContent;
    run(part);
    parts.push_back(part.dataset);
  }
  const std::string path = parts[1] + "/scenes.jsonl", sound = read_file(path);
  write_text(path, sound.substr(0, sound.size() - 3));
  expect_in(message_of(parts), "part2/scenes.jsonl' is damaged");
  fs::remove(path);
  expect_in(message_of(parts), "has scenes.jsonl");
  IngestRequest again = request("part2", {2, 2});
  again.analysis.scenes = SceneDetector::kContent;
  run(again);
  EXPECT_EQ(read_file(path), sound);
  EXPECT_EQ(message_of(parts), "");
}

TEST_F(Merging, PartsAreDataSetsOfTheirOwnAndMayBeEmpty) {
  const std::vector<std::string> parts = make_parts(20);
  size_t samples = 0, empty = 0;
  for (const std::string& part : parts) {
    const Dataset dataset(part);
    samples += dataset.samples().size();
    empty += read_manifest(part + "/manifest.jsonl").empty();
  }
  EXPECT_EQ(samples, 13u);
  EXPECT_GE(empty, 6u) << "fourteen files in twenty parts";
}

TEST_F(Merging, NamesMissingDoubleAndMixedParts) {
  const std::vector<std::string> parts = make_parts(3);
  expect_in(message_of({parts[0], parts[2]}), "missing: part 2/3");
  expect_in(message_of({parts[1]}), "missing: part 1/3, 3/3");
  expect_in(message_of({parts[0], parts[0], parts[1]}), "named twice");
  fs::copy(parts[0], at("copy"), fs::copy_options::recursive);
  expect_in(message_of({parts[0], at("copy"), parts[1], parts[2]}), "are both part 1/3");
  expect_in(message_of({parts[0], make_part(2, 2)}), "parts of one data set have the same count");
  expect_in(message_of({}), "no parts to merge");
  expect_in(message_of({parts[0], parts[1], at("none")}), "no such folder");
  expect_in(message_of({parts[0], parts[1], source()}), "is no part of a data set");
  run(request("whole"));
  expect_in(message_of({parts[0], parts[1], at("whole")}), "is a whole data set, no part");
  EXPECT_THROW(merge("part1of3", parts), UsageError);
  EXPECT_THROW(merge("part1of3/below", parts), UsageError);
  EXPECT_FALSE(fs::exists(at("merged")));
  merge("merged", parts);
  write_text(source() + "/zz.txt", "z");
  write_text(source() + "/zz.mp4", "z");
  for (const std::string& part : parts) fs::remove_all(part);
  expect_in(message_of(make_parts(3)), "holds another data set than these parts give");
}

TEST_F(Merging, RefusesPartsOfOtherOptionsOrSources) {
  std::vector<std::string> parts = make_parts(2);
  IngestRequest other = request("other", {2, 2});
  other.decode.fps = 4;
  run(other);
  const std::string message = message_of({parts[0], at("other")});
  expect_in(message, "--fps: then 4.0, now 8.0");
  EXPECT_EQ(message.find("--area"), std::string::npos) << message;
  write_text(source() + "/clip000.txt", "another caption, of a clip in part 1");
  run(request("newer", {2, 2}));
  expect_in(message_of({parts[0], at("newer")}), "made from different sources");
  expect_in(message_of({at("newer"), parts[0]}), "--update");
  // Part 2 has none of the changed clips, and yet it must learn of them.
  IngestRequest update = request("part2of2", {2, 2});
  EXPECT_THROW(run(update), Error);
  update.update = true;
  run(update);
  update = request("part1of2", {1, 2});
  update.update = true;
  run(update);
  EXPECT_EQ(message_of(parts), "");
  run(request("whole"));
  EXPECT_EQ(folder_difference(at("whole"), at("merged")), "");
}

TEST_F(Merging, RefusesUnfinishedAndDamagedParts) {
  const std::vector<std::string> parts = make_parts(2);
  EXPECT_THROW(ingest(request("part1of2x", {1, 2}),
                      [](const IngestProgress& p) {
                        if (p.done >= 4) throw Error("stopped");
                      }),
               Error);
  expect_in(message_of({at("part1of2x"), parts[1]}),
            "is not finished; run its 'zoetrope ingest' with --part");
  const std::string shard = parts[1] + "/shard-00001.h5", good = read_file(shard);
  std::string bad = good;
  bad[bad.size() / 2] = char(bad[bad.size() / 2] ^ 4);
  write_text(shard, bad);
  expect_in(message_of(parts), "shard-00001.h5' is missing or damaged");
  fs::remove(shard);
  expect_in(message_of(parts), "--part 2/2 --repair");
  write_text(shard, good);
  EXPECT_EQ(message_of(parts), "") << "goes on where it was";
  run(request("whole"));
  EXPECT_EQ(folder_difference(at("whole"), at("merged")), "");
  const std::string pairing = read_file(parts[1] + "/pairing.json");
  EXPECT_EQ(pairing, read_file(at("whole/pairing.json"))) << "of all sources";
  for (const char* damaged : {"", "{}"}) {
    write_text(parts[1] + "/pairing.json", damaged);
    expect_in(message_of(parts), "part2of2/pairing.json' is not that of");
    EXPECT_TRUE(run(request("part2of2", {2, 2})).was_complete);
    EXPECT_EQ(read_file(parts[1] + "/pairing.json"), pairing);
  }
  fs::remove(at("merged/pairing.json"));
  EXPECT_EQ(message_of(parts), "");
  EXPECT_EQ(folder_difference(at("whole"), at("merged")), "") << "it is written again";
  std::string manifest = read_file(parts[0] + "/manifest.jsonl");
  manifest[20] ^= 1;
  write_text(parts[0] + "/manifest.jsonl", manifest);
  expect_in(message_of(parts), "don't belong together");
}

TEST_F(Merging, GoesOnFromEveryStopAndRedoesADamagedShard) {
  run(request("whole"));
  const std::vector<std::string> parts = make_parts(3);
  for (int64_t after = 1; after <= 14; ++after) {
    const std::string name = "stop" + std::to_string(after);
    EXPECT_THROW(merge_parts(at(name), parts,
                             [&](const MergeProgress& p) {
                               if (p.done >= after) throw Error("stopped");
                             }),
                 Error);
    EXPECT_THROW(Dataset{at(name)}, Error);
    const MergeResult result = merge(name, parts);
    EXPECT_GE(result.resumed + 4, after) << "three clips and a refused file wait for their shard";
    ASSERT_EQ(folder_difference(at("whole"), at(name)), "") << after;
  }
  write_text(at("stop3/shard-00001.h5"), "damaged");
  EXPECT_FALSE(merge("stop3", parts).was_complete);
  EXPECT_EQ(folder_difference(at("whole"), at("stop3")), "");
  EXPECT_THROW(merge_parts(at("ours"), parts,
                           [](const MergeProgress& p) {
                             if (p.done >= 5) throw Error("stopped");
                           }),
               Error);
  write_text(source() + "/clip000.txt", "another caption");
  EXPECT_THROW(merge("ours", make_parts(4)), Error) << "an unfinished merge of other parts";
}

}  // namespace
}  // namespace zoetrope
