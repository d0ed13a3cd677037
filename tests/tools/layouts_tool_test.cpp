// Data sets of every layout through the command, from files on disk to the frames that were taken.
#include <gtest/gtest.h>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"
#include "video/store/dataset.h"
#include "video/store/manifest.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::Finished;
using testing_support::printed_json;
using testing_support::run_ffmpeg;
using testing_support::run_process;
using testing_support::TemporaryFolder;
using testing_support::write_text;
using Names = std::vector<std::string>;

class Layouts : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  Finished zoetrope(Names words) const {
    words.insert(words.begin(), ZT_BINARY);
    return run_process(words);
  }
  /// A video of so many frames; B-frames, so that packets come in another order.
  void add_video(const std::string& name, int frames = 40, int rate = 16) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    run_ffmpeg("-f lavfi -i testsrc2=s=64x48:r=" + std::to_string(rate) + " -frames:v " +
               std::to_string(frames) + " -c:v libx264 -bf 2 " + path(name));
  }
  /// Ingests into a new folder; "name=caption" of its samples.
  Names ingest(const std::string& source, Names options = {}, int exit_code = 0) {
    dataset_ = path("data" + std::to_string(++count_));
    Names words = {"ingest", path(source), dataset_, "--fps", "16", "--area", "3072"};
    words.insert(words.end(), options.begin(), options.end());
    const Finished finished = zoetrope(words);
    EXPECT_EQ(finished.exit_code, exit_code) << finished.output;
    output_ = finished.output;
    Names out;
    if (finished.exit_code > 1) return out;
    const Dataset dataset(dataset_);
    for (const DatasetSample& sample : dataset.samples()) out.push_back(sample.name + "=" + sample.caption);
    return out;
  }
  /// Source frames of sample `index` of the last data set.
  std::vector<int64_t> frames_of(int64_t index) const {
    std::vector<int64_t> out;
    for (const FrameSource& source : Dataset(dataset_).read_sources(index))
      out.push_back(source.source_index);
    return out;
  }
  /// "first+count" of each sample whose source frames follow each other.
  std::string spans() const {
    std::string out;
    const auto samples = Dataset(dataset_).samples().size();
    for (size_t i = 0; i < samples; ++i) {
      const auto frames = frames_of(int64_t(i));
      for (size_t k = 1; k < frames.size(); ++k) EXPECT_EQ(frames[k], frames[0] + int64_t(k)) << i;
      out += (i == 0 ? "" : " ") + std::to_string(frames[0]) + "+" + std::to_string(frames.size());
    }
    return out;
  }
  TemporaryFolder folder_;
  std::string dataset_, output_;
  int count_ = 0;
};

TEST_F(Layouts, CaptionsFromSidecarsTablesAndLists) {
  add_video("clips/a.mp4", 17);
  fs::copy(path("clips/a.mp4"), path("clips/b.mp4"));
  write_text(path("clips/a.txt"), "A");
  write_text(path("clips/b.json"), "{\"caption\":\"B\"}");
  const Names expected = {"a.mp4=A", "b.mp4=B"};
  EXPECT_EQ(ingest("clips"), expected);
  EXPECT_NE(output_.find("captions: 2 of 2 clips have one (2 by sidecar)"), std::string::npos) << output_;
  const std::string pairing = read_file(dataset_ + "/pairing.json"),
                    manifest = read_file(dataset_ + "/manifest.jsonl");
  EXPECT_EQ(nlohmann::json::parse(pairing).at("with_caption"), 2);
  EXPECT_EQ(pairing.find(folder_.path()), std::string::npos);
  fs::remove(path("clips/a.txt"));
  fs::remove(path("clips/b.json"));
  const std::pair<const char*, const char*> tables[] = {
      {"metadata.csv",
       "\xef\xbb\xbf"
       "video, prompt\r\na.mp4, A\r\nb.mp4, \"B\"\r\n"},
      {"train.jsonl",
       "{\"video_path\":\"a.mp4\",\"caption\":\"A\"}\n{\"video_path\":\"b.mp4\",\"caption\":\"B\"}\n"},
      {"data.json",
       "[{\"caption\":\"A\",\"media_path\":\"a.mp4\"},{\"caption\":\"B\",\"media_path\":\"b.mp4\"}]"},
      {"captions.json", "{\"a.mp4\":[\"A\"],\"b.mp4\":[\"B\"]}"}};
  for (const auto& [name, text] : tables) {
    write_text(path("clips/" + std::string(name)), text);
    EXPECT_EQ(ingest("clips"), expected) << name;
    EXPECT_EQ(read_file(dataset_ + "/manifest.jsonl"), manifest) << "the bytes don't depend on the layout";
    EXPECT_EQ(ingest("clips/" + std::string(name)), expected) << name << " as SOURCE";
    fs::remove(path("clips/" + std::string(name)));
  }
  write_text(path("clips/prompts.txt"), "B\nA\n");
  write_text(path("clips/videos.txt"), "b.mp4\na.mp4\n");
  EXPECT_EQ(ingest("clips"), expected);
}

TEST_F(Layouts, ReadsMembersOfArchivesInPlace) {
  add_video("in/0001.mp4", 17);
  add_video("in/0002.first.mov", 9);
  write_text(path("in/0001.json"), "{\"caption\":\"one\",\"fps\":16}");
  write_text(path("in/0002.first.txt"), "two");
  write_text(path("in/0003.pth"), "pickled");
  write_text(path("in/0003.json"), "{\"caption\":\"three\"}");
  fs::create_directories(path("clips"));
  ASSERT_EQ(run_process({"tar", "-C", path("in"), "-cf", path("clips/shard-0.tar"), "0001.mp4", "0001.json",
                         "0002.first.mov", "0002.first.txt", "0003.pth", "0003.json"})
                .exit_code,
            0);
  EXPECT_EQ(ingest("clips", {}, 1), (Names{"shard-0.tar/0001.mp4=one", "shard-0.tar/0002.first.mov=two"}));
  EXPECT_EQ(spans(), "0+17 0+9");
  EXPECT_NE(output_.find("shard-0.tar/0003.pth refused: a Python pickle"), std::string::npos) << output_;
  EXPECT_EQ(ingest("clips/shard-0.tar", {}, 1), (Names{"0001.mp4=one", "0002.first.mov=two"}));
  const auto entries = read_manifest(dataset_ + "/manifest.jsonl");
  EXPECT_EQ(entries[0].source_bytes, int64_t(fs::file_size(path("in/0001.mp4"))));
  fs::remove(path("in/0003.pth"));
  fs::remove(path("in/0003.json"));
  ingest("in");
  EXPECT_EQ(read_manifest(dataset_ + "/manifest.jsonl")[0].source_hash, entries[0].source_hash)
      << "a member has the hash of the file that it was";
}

TEST_F(Layouts, ReadsFoldersOfFramesAsClips) {
  fs::create_directories(path("clips/shot"));
  run_ffmpeg("-f lavfi -i testsrc2=s=64x48:r=12 -frames:v 12 -start_number 1 " + path("clips/shot/%d.png"));
  write_text(path("clips/shot.txt"), "A");
  EXPECT_EQ(ingest("clips", {}, 3), Names{});
  EXPECT_NE(output_.find("the rate of its pictures is unknown; say --picture-fps"), std::string::npos)
      << output_;
  EXPECT_EQ(ingest("clips", {"--picture-fps", "12"}), Names{"shot=A"});
  // 12 frames at 12 per second last 1 s: 16 at 16, cut to 13 = 1 + 3 x 4.
  EXPECT_EQ(frames_of(0), (std::vector<int64_t>{0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9}));
  write_text(path("clips/shot/7.png"), "no picture");
  ingest("clips", {"--picture-fps", "12"}, 1);
  EXPECT_NE(output_.find("decode errors"), std::string::npos) << output_;
  for (int64_t frame : frames_of(0)) EXPECT_LE(frame, 5) << "only the run before the damaged picture";
}

TEST_F(Layouts, OfMusubiTakesTheFramesOfEachMode) {
  add_video("v/a.mp4", 40, 24);
  write_text(path("v/a.txt"), "A");
  const std::string set =
      "[general]\nresolution = [64, 48]\ncaption_extension = '.txt'\n[[datasets]]\n"
      "video_directory = 'v'\ntarget_frames = [13]\n";
  const std::pair<const char*, const char*> modes[] = {
      {"frame_extraction = 'head'", "0+13"},
      {"frame_extraction = 'chunk'", "0+13 13+13 26+13"},
      {"frame_extraction = 'slide'\nframe_stride = 10", "0+13 10+13 20+13"},
      {"frame_extraction = 'uniform'\nframe_sample = 4", "0+13 9+13 18+13 27+13"},
      {"frame_extraction = 'full'\nmax_frames = 129", "0+37"},
      {"frame_extraction = 'full'\nmax_frames = 20", "0+17"}};
  for (const auto& [keys, expected] : modes) {
    write_text(path("set.toml"), set + keys + "\n");
    ingest("set.toml", {"--max-seconds", "0.5"});
    EXPECT_EQ(spans(), expected) << keys << " (--max-seconds doesn't cut what the TOML asks for)";
    const std::vector<ManifestEntry> entries = read_manifest(dataset_ + "/manifest.jsonl");
    for (size_t i = 0; i < entries.size(); ++i) {
      const ClipAnalysis& analysis = entries[i].analysis;
      EXPECT_EQ(analysis.duplicate.name, "") << keys << ": other frames of the same file are none";
      EXPECT_TRUE(analysis.has_window);
      EXPECT_DOUBLE_EQ(analysis.window_start, double(frames_of(int64_t(i))[0]) / 24);
    }
  }
  // 24 to 16 per second by number: frame i is kept where floor(i 16 / 24) is new.
  write_text(path("set.toml"), set + "source_fps = 24.0\n");
  ingest("set.toml");
  EXPECT_EQ(frames_of(0), (std::vector<int64_t>{0, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18}));
}

TEST_F(Layouts, OfMusubiReadsFoldersOfFramesFromJsonLines) {
  fs::create_directories(path("frames/one"));
  run_ffmpeg("-f lavfi -i testsrc2=s=64x48:r=12 -frames:v 30 " + path("frames/one/f%03d.png"));
  write_text(path("list.jsonl"), "{\"video_path\":\"frames/one\",\"caption\":\"A\"}\n");
  write_text(path("set.toml"),
             "[[datasets]]\nresolution = [64, 48]\nvideo_jsonl_file = 'list.jsonl'\n"
             "target_frames = [13]\nframe_extraction = 'chunk'\nnum_repeats = 2\n");
  EXPECT_EQ(ingest("set.toml"), (Names{"frames/one#00000-013=A", "frames/one#00000-013=A",
                                       "frames/one#00013-013=A", "frames/one#00013-013=A"}));
  EXPECT_EQ(spans(), "0+13 0+13 13+13 13+13");
  EXPECT_EQ(read_manifest(dataset_ + "/manifest.jsonl").size(), 2u) << "repeats are counts, not bytes";
}

TEST_F(Layouts, OfDiffusionPipeTakesItsAreasAndLengths) {
  add_video("v/a.mp4", 40);
  add_video("v/b.mp4", 9);
  write_text(path("v/a.txt"), "A");
  write_text(path("v/b.txt"), "B");
  write_text(path("set.toml"),
             "resolutions = [32, 64]\nframe_buckets = [1, 33]\ncaption_prefix = 'film '\n"
             "[[directory]]\npath = 'v'\nnum_repeats = 2\n");
  EXPECT_EQ(ingest("set.toml", {"--max-seconds", "1"}),
            (Names{"a.mp4@32=film A", "a.mp4@32=film A", "a.mp4@64=film A", "a.mp4@64=film A",
                   "b.mp4@32=film B", "b.mp4@32=film B", "b.mp4@64=film B", "b.mp4@64=film B"}));
  EXPECT_EQ(spans(), "0+33 0+33 0+33 0+33 0+9 0+9 0+9 0+9");
  const auto samples = Dataset(dataset_).samples();
  EXPECT_LE(samples[0].height * samples[0].width, 32 * 32);
  EXPECT_LT(samples[0].height * samples[0].width, samples[2].height * samples[2].width);
  EXPECT_LE(samples[2].height * samples[2].width, 64 * 64);
  const auto entries = read_manifest(dataset_ + "/manifest.jsonl");
  EXPECT_EQ(entries[0].verdict, "trimmed");
  EXPECT_NE(entries[0].reason.find("the longest of frame_buckets"), std::string::npos) << entries[0].reason;
  EXPECT_EQ(entries[2].reason.find("frame_buckets"), std::string::npos) << entries[2].reason;
}

TEST_F(Layouts, ExplainsAndDecodesNothing) {
  write_text(path("clips/a.mp4"), "no video, which only decoding would tell");
  write_text(path("clips/a.txt"), "A caption");
  write_text(path("clips/b.mp4"), "x");
  const Finished text = zoetrope({"ingest", path("clips"), path("x"), "--explain"});
  EXPECT_EQ(text.exit_code, 1);
  for (const char* part :
       {"a.mp4\n  read as  file, whole, at 8 frames per second\n  caption  sidecar a.txt: 'A caption'",
        "b.mp4\n  refused: no caption", "1 of 2 clips have one"})
    EXPECT_NE(text.output.find(part), std::string::npos) << part << " in: " << text.output;
  EXPECT_FALSE(fs::exists(path("x")));
  const auto json = nlohmann::json::parse(
      printed_json(zoetrope({"ingest", path("clips"), path("x"), "--explain", "--json"})));
  EXPECT_EQ(json.at("clips").at(0).at("caption_from"), "a.txt");
  EXPECT_EQ(json.at("clips").at(0).at("layout"), "sidecar");
  EXPECT_EQ(json.at("pairing").at("without_caption"), 1);
}

TEST_F(Layouts, OptionsThatChangeTheReadingAreKeptInTheRules) {
  add_video("clips/a.mp4", 17);
  write_text(path("clips/a.txt"), "one\ntwo\n");
  EXPECT_EQ(ingest("clips"), Names{"a.mp4=one two"});
  const Finished other = zoetrope(
      {"ingest", path("clips"), dataset_, "--fps", "16", "--area", "3072", "--caption-lines", "split"});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_NE(other.output.find("other options"), std::string::npos) << other.output;
  EXPECT_EQ(ingest("clips", {"--caption-lines", "split", "--alternatives", "each"}),
            (Names{"a.mp4#caption0=one", "a.mp4#caption1=two"}));
}

}  // namespace
}  // namespace zoetrope
