// Files made to harm: references to other files and to the network, sizes and counts that no memory holds,
// folders that link to themselves. Nothing but the file itself is read, and memory stays bounded.
#include <sys/resource.h>

#include <gtest/gtest.h>
#include <filesystem>

#include "core/files.h"
#include "core/shallow_json.h"
#include "tests/support/damage.h"
#include "tests/support/media.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"
#include "video/ingest/ingest.h"
#include "video/media/decode.h"
#include "video/sources/linked_folders.h"
#include "video/sources/source_files.h"
#include "video/store/dataset_writer.h"
#include "video/store/journal.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;
using testing_support::find_box;
using testing_support::put_big_endian;
using testing_support::run_ffmpeg;
using testing_support::TemporaryFolder;
using testing_support::write_text;

class Hostile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void make_clip(const std::string& name, const std::string& source = "testsrc2=s=64x48:r=10:d=1") const {
    run_ffmpeg("-f lavfi -i " + source + " -c:v libx264 " + path(name));
  }
  DecodedClip decode(const std::string& name) const { return decode_file(path(name), {}).at(0); }
  void expect_refused(const std::string& name, const std::string& reason) const {
    const DecodedClip clip = decode(name);
    EXPECT_NE(clip.refused.find(reason), std::string::npos) << name << ": " << clip.refused;
    EXPECT_FALSE(clip.undecided) << name;
    EXPECT_EQ(clip.clip.num_frames, 0) << name;
  }
  TemporaryFolder folder_;
};

TEST_F(Hostile, OnlyPathsOfFilesAreOpened) {
  make_clip("a.mp4");
  for (const std::string& name :
       {std::string("http://127.0.0.1:9/a.mp4"), std::string("rtmp://127.0.0.1/a"), "file:" + path("a.mp4"),
        "concat:" + path("a.mp4") + "|" + path("a.mp4"), "subfile,,start,0,end,0,,:" + path("a.mp4"),
        std::string("data:video/mp4;base64,AAAA"), std::string("pipe:0"), "async:" + path("a.mp4")})
    EXPECT_NE(decode_file(name, {}).at(0).refused.find("No such file"), std::string::npos) << name;
}

TEST_F(Hostile, PlaylistsAndTextsThatNameOtherFilesAreRefused) {
  make_clip("a.mp4");
  const std::string other = path("a.mp4");
  const std::pair<const char*, std::string> texts[] = {
      {"hls.mp4", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n" + other + "\n#EXT-X-ENDLIST\n"},
      {"list.mp4", "ffconcat version 1.0\nfile " + other + "\n"},
      {"dash.mp4",
       "<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
       "profiles=\"urn:mpeg:dash:profile:isoff-on-demand:2011\"><Period><BaseURL>" +
           other + "</BaseURL></Period></MPD>\n"},
      {"session.mp4",
       "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n"},
      {"subtitles.mp4", "1\n00:00:00,000 --> 00:00:01,000\ntext\n\n2\n00:00:01,000 --> 00:00:02,000\nmore\n"},
      {"styled.mp4", "[Script Info]\nScriptType: v4.00+\n[Events]\nDialogue: 0,0:00:00.00,0:00:01.00,x\n"},
      {"vector.mp4", "<svg xmlns=\"http://www.w3.org/2000/svg\"><image href=\"" + other + "\"/></svg>\n"},
      {"meta.mp4", ";FFMETADATA1\ntitle=x\n"}};
  for (const auto& [name, text] : texts) {
    write_text(path(name), text);
    const DecodedClip clip = decode(name);
    EXPECT_NE(clip.refused, "") << name;
    EXPECT_EQ(clip.facts.packets, 0) << name << ": " << clip.refused;
  }
}

TEST_F(Hostile, DataReferencesAreNotFollowed) {
  make_clip("own.mp4");
  make_clip("other.mp4", "color=c=white:s=64x48:r=10:d=1");
  std::string bytes = read_file(path("own.mp4"));
  // A Macintosh alias: 150 bytes, then a list of typed texts of which type 2 is the path.
  const std::string target = path("other.mp4");
  std::string alias(12 + 150, '\0');
  alias.replace(4, 4, "alis");
  alias += std::string("\x00\x02", 2) + std::string(2, '\0') + target + std::string(target.size() % 2, '\0');
  put_big_endian(alias, 12 + 150 + 2, target.size(), 2);
  alias += "\xff\xff" + std::string(2, '\0');
  put_big_endian(alias, 0, alias.size(), 4);
  testing_support::append_to_box(bytes, {"moov", "trak", "mdia", "minf", "dinf", "dref"}, alias);
  put_big_endian(bytes, find_box(bytes, "dref") + 4, 2, 4);  // two references
  const size_t samples = find_box(bytes, "stsd");            // whose samples lie in the second one
  put_big_endian(bytes, samples + 8 + 8 + 6, 2, 2);
  write_text(path("reference.mp4"), bytes);
  const DecodedClip own = decode("own.mp4"), reference = decode("reference.mp4");
  ASSERT_EQ(own.refused, "");
  if (reference.refused.empty()) { EXPECT_TRUE(reference.clip.pixels == own.clip.pixels); }
  EXPECT_FALSE(reference.clip.pixels == decode("other.mp4").clip.pixels);
}

/// Files that ask for far more than they are. Each has its way to be refused, none takes memory.
class Bombs : public Hostile {
 protected:
  void SetUp() override {
    write_text(path("huge.png"), testing_support::png_header(65535, 65535));
    write_text(path("wide.png"), testing_support::png_header(2147483647, 1));
    write_text(path("big.png"), testing_support::png_header(20000, 16000));
    make_clip("a.mp4");
    std::string bytes = read_file(path("a.mp4"));
    const size_t sizes = find_box(bytes, "stsz");
    put_big_endian(bytes, sizes + 4, 1, 4);           // all samples have one byte
    put_big_endian(bytes, sizes + 8, 0x7fffffff, 4);  // and there are 2^31 - 1 of them
    const size_t times = find_box(bytes, "stts");
    put_big_endian(bytes, times + 8, 0x7fffffff, 4);
    put_big_endian(bytes, times + 12, 1, 4);
    write_text(path("samples.mp4"), bytes);
    bytes = read_file(path("a.mp4"));
    for (const char* box : {"stts", "stsc", "stsz", "stco", "stss", "ctts"})
      if (bytes.find(box) != std::string::npos)
        put_big_endian(bytes, find_box(bytes, box) + (std::string(box) == "stsz" ? 8 : 4), 0x7ffffff0, 4);
    write_text(path("entries.mp4"), bytes);
    run_ffmpeg("-f lavfi -i testsrc2=s=16x16:r=10:d=1 " + path("small.gif"));
    bytes = read_file(path("small.gif"));
    for (const size_t at : {6, 7, 8, 9}) bytes[at] = '\xff';
    write_text(path("canvas.gif"), bytes);
    fs::remove(path("small.gif"));
    run_ffmpeg("-f lavfi -i testsrc2=s=16x16:r=10 -frames:v 1 -update 1 " + path("small.bmp"));
    bytes = read_file(path("small.bmp"));
    for (const size_t at : {18, 22}) bytes.replace(at, 4, std::string("\xf0\xff\x00\x00", 4));
    write_text(path("canvas.bmp"), bytes);
    fs::remove(path("small.bmp"));
  }
  const std::vector<std::string> names_ = {"huge.png",    "wide.png",   "big.png",   "samples.mp4",
                                           "entries.mp4", "canvas.gif", "canvas.bmp"};
};

TEST_F(Bombs, AreRefusedWithAReason) {
  EXPECT_EQ(decode("a.mp4").refused, "");
  for (const std::string& name : names_) {
    const DecodedClip clip = decode(name);
    EXPECT_FALSE(clip.undecided) << name << ": " << clip.refused;
    if (name == "samples.mp4" || name == "entries.mp4") {
      EXPECT_TRUE(clip.found_damage || !clip.refused.empty()) << name;
    } else {
      EXPECT_NE(clip.refused, "") << name;
    }
  }
}

TEST_F(Bombs, TakeNoMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer holds freed memory back, so that the peak is not the program's";
#endif
  const auto peak_of = [&](const std::string& name) {
    fs::create_directories(path(name));
    write_text(path(name + "/a.mp4"), read_file(path("a.mp4")));
    if (name == "bombs")
      for (const std::string& bomb : names_) write_text(path(name + "/" + bomb), read_file(path(bomb)));
    // A few lines that report the peak of a child's memory, which the shell's own tools don't.
    testing_support::Process process({ZT_BINARY, "ingest", path(name), path(name + "-data"), "--workers", "2",
                                      "--max-pixels", "1048576", "--missing-caption", "empty"});
    const testing_support::Finished finished = process.wait();
    EXPECT_EQ(finished.exit_code, name == "bombs" ? 1 : 0) << finished.output;
    struct rusage usage;
    EXPECT_EQ(getrusage(RUSAGE_CHILDREN, &usage), 0);
    return int64_t(usage.ru_maxrss) * 1024;  // of the biggest child so far
  };
  const int64_t plain = peak_of("plain"), with_bombs = peak_of("bombs");
  // A decoder holds at most 16 reference pictures, and a few are in hand; 8 bytes a pixel are the most.
  const int64_t allowed = 2 * (16 + 4) * int64_t(8) * 1048576;
  EXPECT_LE(with_bombs - plain, allowed) << "peak " << with_bombs << ", without the bombs " << plain;
}

TEST_F(Hostile, FoldersThatLinkToThemselvesEnd) {
  fs::create_directories(path("source/sub"));
  make_clip("source/sub/a.mp4");
  fs::create_directory_symlink(".", path("source/here"));
  fs::create_directory_symlink("../..", path("source/sub/up"));
  fs::create_symlink("loop.mp4", path("source/loop.mp4"));
  const FoundFiles found = find_files(path("source"));
  int64_t sound = 0;
  for (const FoundFile& file : found.media) sound += file.path == "sub/a.mp4";
  EXPECT_EQ(sound, 1);
  expect_refused("source/loop.mp4", "symbolic link");
}

TEST_F(Hostile, LinksThatMultiplyAreRefused) {
  // Two on each of forty levels are 2^40 paths, and no loop.
  fs::create_directories(path("many"));
  for (int level = 0; level < 40; ++level) {
    const std::string folder = path("many/level" + std::to_string(level));
    fs::create_directories(folder);
    for (const char* name : {"left", "right"})
      fs::create_directory_symlink("../level" + std::to_string(level + 1), folder + "/" + name);
  }
  fs::create_directories(path("many/level40"));
  EXPECT_THROW(require_few_linked_folders(path("many"), 1000), Error);
  fs::create_directories(path("few/clips"));
  fs::create_directory_symlink("clips", path("few/again"));
  fs::create_directory_symlink("..", path("few/clips/loop"));
  EXPECT_NO_THROW(require_few_linked_folders(path("few"), 2));
  IngestRequest request;
  request.source = path("many");
  request.dataset = path("data");
  EXPECT_THROW(ingest(request, [](const IngestProgress&) {}), Error);
}

TEST_F(Hostile, DeepJsonIsRefusedBeforeItIsParsed) {
  const std::string deep(200000, '[');
  EXPECT_THROW(require_shallow_json(deep, "x"), Error);
  EXPECT_NO_THROW(require_shallow_json("{\"a\": \"" + deep + "\\\"" + deep + "\"}", "x")) << "inside a text";
  EXPECT_THROW(parse_manifest_line("{\"name\": " + deep, "x"), Error);
  fs::create_directories(path("data"));
  write_text(path("data/dataset.json"),
             "{\"format\": \"zoetrope data set\", \"shards\": " + deep + std::string(200000, ']') + "}");
  EXPECT_THROW(read_dataset_json(path("data")), Error);
  write_text(journal_path(path("data")), "{\"zoetrope_ingest\":1,\"rules\":{}}\n{\"batch_end\": " + deep +
                                             std::string(200000, ']') + "}\n");
  EXPECT_EQ(read_journal(path("data")).batches.size(), 0u);
  write_text(journal_path(path("data")), "{\"zoetrope_ingest\":\"x\",\"rules\":{}}\n");
  EXPECT_THROW(read_journal(path("data")), Error);
}

}  // namespace
}  // namespace zoetrope
