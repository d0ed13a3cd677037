// Ingest as a whole: bytes that depend on sources and options alone, restart, changed sources, full disks.
#include <gtest/gtest.h>
#include <filesystem>
#include <map>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/ingest/ingest.h"
#include "video/media/encode.h"
#include "video/store/dataset.h"
#include "video/store/journal.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::make_pattern_clip;
using testing_support::TemporaryFolder;
using testing_support::write_text;
using Files = std::map<std::string, std::string>;

Files bytes_of(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::directory_iterator(folder))
    files[entry.path().filename()] = read_file(entry.path());
  return files;
}

/// A dozen small clips and pictures with captions, and some hopeless files.
class Ingesting : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(source() + "/sub");
    for (int i = 0; i < 12; ++i)
      add_clip("clip" + std::to_string(10 + i), 1 + 3 * i, i % 3 == 0 ? ".png" : ".mp4");
    add_clip("sub/last", 9, ".mp4");
    write_text(source() + "/clip15x.mp4", "no video at all");
    write_text(source() + "/clip15x.txt", "text");
    write_text(source() + "/zz.mp4", "");
    write_text(source() + "/zz.txt", "empty");
  }
  std::string source() const { return folder_.path() + "/source"; }
  std::string target(const std::string& name) const { return folder_.path() + "/" + name; }

  void add_clip(const std::string& stem, int64_t frames, const std::string& ending, uint64_t seed = 1) const {
    const Clip clip = make_pattern_clip(frames, 48, 64, 8, seed + uint64_t(frames));
    if (ending == ".png") write_png(source() + "/" + stem + ending, clip.frame(0), clip.height, clip.width);
    else write_mp4(source() + "/" + stem + ending, clip);
    write_text(source() + "/" + stem + ".txt", "the clip " + stem);
  }

  IngestRequest request(const std::string& name, int64_t workers = 2) const {
    IngestRequest out;
    out.source = source();
    out.dataset = target(name);
    out.workers = workers;
    out.decode.size.area = 32 * 24;
    out.shard_samples = 4;
    return out;
  }
  IngestResult run(const IngestRequest& request) const {
    return ingest(request, [](const IngestProgress&) {});
  }
  /// Stops an ingest after so many clips, as a full disk or a user would.
  void run_and_stop(const IngestRequest& request, int64_t after) const {
    EXPECT_THROW(ingest(request,
                        [&](const IngestProgress& p) {
                          if (p.done >= after) throw Error("stopped");
                        }),
                 Error);
  }
  std::string message_of(const IngestRequest& request) const {
    try {
      run(request);
    } catch (const Error& error) { return error.what(); }
    return "";
  }
  TemporaryFolder folder_;
};

TEST_F(Ingesting, WritesTheSameBytesForAnyNumberOfWorkers) {
  const IngestResult result = run(request("one", 1));
  EXPECT_EQ(result.entries.size(), 15u);
  const Files expected = bytes_of(target("one"));
  EXPECT_EQ(expected.size(), 7u) << "four shards, manifest.jsonl, dataset.json, pairing.json";
  for (int64_t workers : {2, 3, 8}) {
    const std::string name = "w" + std::to_string(workers);
    run(request(name, workers));
    EXPECT_TRUE(bytes_of(target(name)) == expected) << workers;
  }
  for (const auto& [name, bytes] : expected)
    EXPECT_EQ(bytes.find(folder_.path()), std::string::npos) << name << " holds a path";
  const Dataset dataset(target("one"));
  EXPECT_EQ(dataset.samples().size(), 13u);
  EXPECT_EQ(dataset.samples()[1].name, "clip11.mp4");
  EXPECT_EQ(dataset.samples()[1].caption, "the clip clip11");
}

TEST_F(Ingesting, GoesOnFromEveryStop) {
  run(request("whole"));
  const Files expected = bytes_of(target("whole"));
  for (int64_t after = 0; after <= 15; ++after) {
    const std::string name = "stop" + std::to_string(after);
    run_and_stop(request(name), after);
    EXPECT_THROW(Dataset{target(name)}, Error) << "an unfinished data set must not open";
    const IngestResult result = run(request(name, 3));
    EXPECT_GE(result.resumed + 5, after);
    ASSERT_TRUE(bytes_of(target(name)) == expected) << "stopped after " << after;
  }
}

TEST_F(Ingesting, DoesNothingWhenAllIsThere) {
  run(request("data"));
  const Files before = bytes_of(target("data"));
  fs::last_write_time(source() + "/clip11.mp4", fs::file_time_type::clock::now());
  EXPECT_TRUE(run(request("data")).was_complete);
  EXPECT_TRUE(bytes_of(target("data")) == before);
}

TEST_F(Ingesting, ListsChangedSourcesAndRedoesThemWhenAsked) {
  for (const bool finished : {true, false}) {
    const std::string name = finished ? "finished" : "partial";
    if (finished) run(request(name));
    else run_and_stop(request(name), 13);
    add_clip("clip12b", 5, ".mp4");
    add_clip("zzz", 5, ".png");
    fs::remove(source() + "/clip18.mp4");
    add_clip("clip17", 6, ".mp4", 77);
    write_text(source() + "/clip20.txt", "another caption");
    const std::string message = message_of(request(name));
    for (const char* part : {"2 added: clip12b.mp4, zzz.png", "1 removed: clip18.mp4",
                             "2 changed: clip17.mp4, clip20.mp4", "--update"})
      EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
    IngestRequest update = request(name);
    update.update = true;
    const IngestResult updated = run(update);
    const IngestResult fresh = run(request(name + "-fresh"));
    // Two clips are new and two have changed; what else could be decoded wasn't.
    int64_t kept = 0;
    for (const ManifestEntry& entry : fresh.entries) kept += !entry.refused();
    if (finished) { EXPECT_EQ(updated.resumed + updated.reused, kept - 4); }
    EXPECT_GT(updated.reused, 0);
    EXPECT_TRUE(bytes_of(target(name)) == bytes_of(target(name + "-fresh"))) << name;
    for (const char* stem : {"clip12b.mp4", "clip12b.txt", "zzz.png", "zzz.txt"})
      fs::remove(source() + "/" + stem);
    TearDown();
    SetUp();
  }
}

TEST_F(Ingesting, UpdatesThatAreStoppedAndChangedAgainGiveTheSameBytes) {
  const auto update = [&] {
    IngestRequest out = request("data");
    out.update = true;
    return out;
  };
  run(request("data"));
  for (int64_t after = 1; after <= 15; after += 2) {
    add_clip("clip12b", after, ".mp4");
    run_and_stop(update(), after);
    EXPECT_THROW(Dataset{target("data")}, Error);
    if (after % 4 == 1) add_clip("clip10b", after, ".png");  // before all that was decided
    if (after == 9) {
      for (const auto& entry : fs::directory_iterator(target("data") + "/previous.partial"))
        if (entry.path().extension() == ".h5") write_text(entry.path(), "damaged");
    }
  }
  run(update());
  EXPECT_FALSE(fs::exists(target("data") + "/previous.partial"));
  run(request("fresh"));
  EXPECT_TRUE(bytes_of(target("data")) == bytes_of(target("fresh")));
}

TEST_F(Ingesting, PartsOfOneFileAreTheSameAfterAStopAndAnUpdate) {
  const auto cut = [&](const std::string& more) {
    write_text(source() + "/metadata.csv",
               "file_name,start,end,text\nclip21.mp4,2,3,late\nclip21.mp4,0,1,early\n" + more);
  };
  const auto one_a_shard = [&](const std::string& name) {
    IngestRequest out = request(name);
    out.shard_samples = 1;
    out.update = true;
    return out;
  };
  for (const char* stem : {"clip15x.mp4", "clip15x.txt", "zz.mp4", "zz.txt", "sub/last.mp4", "sub/last.txt"})
    fs::remove(source() + "/" + stem);
  for (int i = 11; i <= 20; ++i)
    for (const char* ending : {".png", ".mp4", ".txt"})
      fs::remove(source() + "/clip" + std::to_string(i) + ending);
  cut("");
  EXPECT_EQ(run(one_a_shard("whole")).entries.size(), 3u) << "clip10.png and two parts of clip21.mp4";
  // A stop between two parts: the second shard can't be written.
  fs::create_directories(target("stopped") + "/shard-00002.h5/in the way");
  EXPECT_THROW(run(one_a_shard("stopped")), Error);
  fs::remove_all(target("stopped") + "/shard-00002.h5");
  EXPECT_EQ(run(one_a_shard("stopped")).resumed, 2);
  EXPECT_TRUE(bytes_of(target("stopped")) == bytes_of(target("whole")));
  for (const std::string& more : {std::string(), std::string("clip21.mp4,1,2,middle\n"), std::string()}) {
    cut(more);
    run(one_a_shard("whole"));
    run(one_a_shard("fresh" + std::to_string(more.size())));
    EXPECT_TRUE(bytes_of(target("whole")) == bytes_of(target("fresh" + std::to_string(more.size()))));
  }
}

TEST_F(Ingesting, UpdatesWhenClipsWereOnlyAppended) {
  run(request("data"));
  add_clip("zzz", 5, ".png");
  IngestRequest update = request("data");
  update.update = true;
  const IngestResult updated = run(update);
  EXPECT_EQ(updated.resumed, 13) << "the three full shards stay, with a refused file among their clips";
  EXPECT_EQ(updated.reused, 1) << "the clip of the last shard";
  run(request("fresh"));
  EXPECT_TRUE(bytes_of(target("data")) == bytes_of(target("fresh")));
}

TEST_F(Ingesting, RefusesOtherOptionsAndBadPlaces) {
  run_and_stop(request("data"), 9);
  IngestRequest other = request("data");
  other.decode.fps = 4;
  EXPECT_NE(message_of(other).find("other options"), std::string::npos) << message_of(other);
  run(request("data"));
  EXPECT_NE(message_of(other).find("other options"), std::string::npos);
  IngestRequest inside = request("x");
  inside.dataset = source() + "/data";
  EXPECT_THROW(run(inside), UsageError);
  inside = request("x");
  inside.source = folder_.path() + "/none";
  EXPECT_THROW(run(inside), UsageError);
  fs::create_directories(folder_.path() + "/bare");
  inside.source = folder_.path() + "/bare";
  EXPECT_NE(message_of(inside).find("no video or picture"), std::string::npos);
  for (auto change :
       {+[](IngestRequest& r) { r.decode.fps = 0; }, +[](IngestRequest& r) { r.decode.max_seconds = -1; },
        +[](IngestRequest& r) { r.workers = 0; }, +[](IngestRequest& r) { r.decode.size.area = 1; },
        +[](IngestRequest& r) { r.decode.size.patch.t = 0; }}) {
    IngestRequest bad = request("y");
    change(bad);
    EXPECT_THROW(run(bad), UsageError);
  }
}

TEST_F(Ingesting, SaysWhatItCut) {
  const IngestResult result = run(request("data"));
  std::map<std::string, ManifestEntry> by_name;
  for (const ManifestEntry& entry : result.entries) by_name[entry.name] = entry;
  EXPECT_EQ(by_name["clip10.png"].verdict, "kept") << by_name["clip10.png"].reason;
  const ManifestEntry& cut = by_name["clip11.mp4"];  // four frames
  EXPECT_EQ(cut.verdict, "trimmed");
  EXPECT_NE(cut.reason.find("4 frames at 8 fps cut to 1 = 1 + 4 x 0"), std::string::npos) << cut.reason;
  EXPECT_EQ(cut.facts.declared, 4);
  EXPECT_EQ(cut.facts.used, 1);
  EXPECT_EQ(by_name["zz.mp4"].verdict, "refused");
  EXPECT_NE(by_name["zz.mp4"].reason.find("empty file"), std::string::npos);
  EXPECT_NE(by_name["clip15x.mp4"].reason.find("text"), std::string::npos);
}

}  // namespace
}  // namespace zoetrope
