// The commands as users call them: exit codes, messages, exported frames.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"
#include "video/media/decode.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::Finished;
using testing_support::run_ffmpeg;
using testing_support::run_process;
using testing_support::TemporaryFolder;
using testing_support::write_text;

bool is_refused_as_unreadable(const std::string& path) {
  return decode_file(path, {}).at(0).refused.find("can't be read: Permission denied") != std::string::npos;
}

class Tool : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  Finished zoetrope(std::vector<std::string> words) const {
    words.insert(words.begin(), ZT_BINARY);
    return run_process(words);
  }
  void add(const std::string& name, const std::string& caption = "a caption") const {
    fs::create_directories(fs::path(path("clips/" + name)).parent_path());
    run_ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=1 -c:v libx264 " + path("clips/" + name));
    write_text(path("clips/" + name.substr(0, name.rfind('.')) + ".txt"), caption);
  }
  TemporaryFolder folder_;
};

TEST_F(Tool, ExitCodesSayHowItWent) {
  add("a.mp4");
  EXPECT_EQ(zoetrope({"ingest", path("clips"), path("ok")}).exit_code, 0);
  EXPECT_EQ(zoetrope({"ingest", path("clips"), path("ok")}).exit_code, 0) << "again";
  EXPECT_EQ(zoetrope({"inspect", path("ok")}).exit_code, 0);
  EXPECT_EQ(zoetrope({"ingest", path("none"), path("x")}).exit_code, 2);
  EXPECT_EQ(zoetrope({"ingest", path("clips"), path("x"), "--fps", "-3"}).exit_code, 2);
  EXPECT_EQ(zoetrope({"ingest", path("clips"), path("x"), "--missing-caption", "guess"}).exit_code, 2);
  EXPECT_EQ(zoetrope({"ingest", path("clips"), path("ok"), "--fps", "4"}).exit_code, 3);
  write_text(path("clips/b.mp4"), "no video");
  write_text(path("clips/b.txt"), "b");
  const Finished some = zoetrope({"ingest", path("clips"), path("some")});
  EXPECT_EQ(some.exit_code, 1);
  EXPECT_NE(some.output.find("warning: b.mp4 refused: the content is text"), std::string::npos)
      << some.output;
  fs::remove(path("clips/a.mp4"));
  const Finished none = zoetrope({"ingest", path("clips"), path("nothing")});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_NE(none.output.find("error: nothing usable"), std::string::npos) << none.output;
}

TEST_F(Tool, MissingCaptionsFollowTheOption) {
  add("a.mp4");
  add("b.mp4");
  fs::remove(path("clips/b.txt"));
  EXPECT_EQ(zoetrope({"ingest", path("clips"), path("error")}).exit_code, 1);
  EXPECT_EQ(zoetrope({"ingest", path("clips"), path("skip"), "--missing-caption", "skip"}).exit_code, 0);
  EXPECT_EQ(zoetrope({"ingest", path("clips"), path("empty"), "--missing-caption", "empty"}).exit_code, 0);
  const Finished shown = zoetrope({"inspect", path("empty"), "--json"});
  EXPECT_EQ(nlohmann::json::parse(shown.output).at("samples").size(), 2u);
}

TEST_F(Tool, ExportsTheExactTimesOfTheSource) {
  // Times that are no round numbers, and far from 0.
  fs::create_directories(path("clips"));
  testing_support::run_ffmpeg(
      "-f lavfi -i testsrc2=s=64x48:r=30000/1001:d=1 -c:v libx264 -bf 2 -output_ts_offset 80000 -f mpegts " +
      path("clips/a.ts"));
  testing_support::run_ffmpeg("-f lavfi -i testsrc2=s=64x48:r=30000/1001:d=1 -c:v libx264 " +
                              path("clips/b.mp4"));
  ASSERT_EQ(zoetrope({"ingest", path("clips"), path("data"), "--missing-caption", "empty", "--fps",
                      "29.97002997002997"})
                .exit_code,
            0);
  ASSERT_EQ(zoetrope({"inspect", path("data"), "--export", path("out")}).exit_code, 0);
  for (const char* name : {"a.ts", "b.mp4"}) {
    SCOPED_TRACE(name);
    const auto shown = nlohmann::json::parse(
        testing_support::run_process({"ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries",
                                      "frame=pts:stream=time_base", "-of", "json", path("clips/") + name})
            .output);
    const auto frames = nlohmann::json::parse(read_file(path("out/") + name + "/frames.json"));
    ASSERT_GE(frames.size(), 25u);
    for (const auto& frame : frames) {
      EXPECT_EQ(frame.at("pts"), shown.at("frames").at(frame.at("source_index").get<size_t>()).at("pts"));
      EXPECT_EQ(join_message(frame.at("time_base").at(0), "/", frame.at("time_base").at(1)),
                shown.at("streams").at(0).at("time_base").get<std::string>());
    }
  }
}

TEST_F(Tool, ExportsFramesWithTheirTimes) {
  add("a/movie.mp4");
  ASSERT_EQ(zoetrope({"ingest", path("clips"), path("data"), "--fps", "8"}).exit_code, 0);
  ASSERT_EQ(zoetrope({"inspect", path("data"), "--export", path("out"), "--clip", "a/movie.mp4"}).exit_code,
            0);
  const auto frames = nlohmann::json::parse(read_file(path("out/a/movie.mp4/frames.json")));
  ASSERT_EQ(frames.size(), 5u);
  for (size_t k = 0; k < frames.size(); ++k) {
    const int64_t shown = int64_t(double(k) / 8 * 25 + 1e-9);
    EXPECT_EQ(frames[k].at("source_index"), shown);
    EXPECT_NEAR(frames[k].at("source_seconds").get<double>(), double(shown) / 25, 1e-9);
    EXPECT_EQ(frames[k].at("output_seconds"), double(k) / 8);
  }
  EXPECT_TRUE(fs::exists(path("out/a/movie.mp4/000004.png")));
  EXPECT_FALSE(fs::exists(path("out/a/movie.mp4/000005.png")));
  EXPECT_EQ(zoetrope({"inspect", path("data"), "--export", path("out"), "--clip", "b.mp4"}).exit_code, 2);
  EXPECT_EQ(zoetrope({"inspect", path("nowhere")}).exit_code, 3);
}

TEST_F(Tool, CutsOneFileByTheRowsOfATable) {
  add("film.mp4");
  write_text(path("clips/metadata.csv"),
             "file_name, start, end, text\nfilm.mp4, 0, 0.4, first\nfilm.mp4, 0.4, 1, second\n");
  ASSERT_EQ(zoetrope({"ingest", path("clips"), path("data"), "--fps", "25"}).exit_code, 0);
  const auto shown = nlohmann::json::parse(zoetrope({"inspect", path("data"), "--json"}).output);
  ASSERT_EQ(shown.at("samples").size(), 2u);
  EXPECT_EQ(shown["samples"][0]["name"], "film.mp4#0");
  EXPECT_EQ(shown["samples"][0]["frames"], 9);
  EXPECT_EQ(shown["samples"][1]["caption"], "second");
  ASSERT_EQ(zoetrope({"inspect", path("data"), "--export", path("out"), "--clip", "film.mp4#1"}).exit_code,
            0);
  const auto frames = nlohmann::json::parse(read_file(path("out/film.mp4#1/frames.json")));
  EXPECT_EQ(frames[0].at("source_index"), 10);
}

TEST_F(Tool, InspectFindsADamagedShard) {
  add("a.mp4");
  ASSERT_EQ(zoetrope({"ingest", path("clips"), path("data")}).exit_code, 0);
  std::string bytes = read_file(path("data/shard-00000.h5"));
  bytes[bytes.size() / 2] = char(bytes[bytes.size() / 2] ^ 1);
  write_text(path("data/shard-00000.h5"), bytes);
  const Finished found = zoetrope({"inspect", path("data")});
  EXPECT_EQ(found.exit_code, 1);
  EXPECT_NE(found.output.find("error: damaged shard shard-00000.h5"), std::string::npos) << found.output;
}

TEST_F(Tool, MergeAndVerifySayHowFarTheyAre) {
  add("a.mp4");
  add("b.mp4");
  for (const std::string part : {"1/2", "2/2"})
    ASSERT_EQ(zoetrope({"ingest", path("clips"), path("part" + part.substr(0, 1)), "--part", part}).exit_code,
              0);
  const Finished merged = zoetrope({"merge", path("data"), path("part1"), path("part2")});
  EXPECT_EQ(merged.exit_code, 0);
  EXPECT_NE(merged.output.find("2 of 2 clips"), std::string::npos) << merged.output;
  const Finished verified = zoetrope({"inspect", path("data"), "--verify"});
  EXPECT_NE(verified.output.find("1 of 1 shards"), std::string::npos) << verified.output;
  const Finished quiet = zoetrope({"inspect", path("data"), "--verify", "--quiet"});
  EXPECT_EQ(quiet.output.find(" of 1 shards"), std::string::npos) << quiet.output;
  EXPECT_EQ(zoetrope({"inspect", path("data"), "--verify", "--quiet", "--json"}).output.at(0), '{');
}

TEST_F(Tool, GoesOnAfterAFullDisk) {
  add("a.mp4");
  add("b.mp4");
  ASSERT_EQ(zoetrope({"ingest", path("clips"), path("whole"), "--shard-samples", "1"}).exit_code, 0);
  // A limit on the size of files stands for a disk that is full: the writes fail in the same way.
  const std::string limited = std::string("trap '' XFSZ; ulimit -f 8; exec ") + ZT_BINARY + " ingest " +
                              path("clips") + " " + path("data") + " --shard-samples 1";
  const Finished full = run_process({"sh", "-c", limited});
  EXPECT_EQ(full.exit_code, 3);
  EXPECT_NE(full.output.find("error: can't write '"), std::string::npos) << full.output;
  EXPECT_FALSE(fs::exists(path("data/shard-00000.h5")));
  EXPECT_FALSE(fs::exists(path("data/shard-00000.h5.partial")));
  EXPECT_EQ(zoetrope({"ingest", path("clips"), path("data"), "--shard-samples", "1"}).exit_code, 0);
  for (const auto& entry : fs::directory_iterator(path("whole")))
    EXPECT_TRUE(read_file(entry.path()) == read_file(path("data/" + entry.path().filename().string())))
        << entry.path();
}

TEST_F(Tool, SaysWhatItCannotWriteOrRead) {
  add("a.mp4");
  const Finished target = zoetrope({"ingest", path("clips"), "/proc/zoetrope"});
  EXPECT_EQ(target.exit_code, 3);
  EXPECT_NE(target.output.find("error: can't make the folder '/proc/zoetrope'"), std::string::npos)
      << target.output;
  // Root may read anything, so the unreadable file is tried as nobody.
  chmod(folder_.path().c_str(), 0755);
  chmod(path("clips/a.mp4").c_str(), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(99);
    _exit(is_refused_as_unreadable(path("clips/a.mp4")) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace zoetrope
