// Which caption goes to which clip, for every layout; the media are empty files, since nothing is decoded.
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/check.h"
#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/sources/ingest_plan.h"

namespace zoetrope {
namespace {

using testing_support::TemporaryFolder;
using testing_support::write_text;
using Names = std::vector<std::string>;

class PairingTest : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text = "x") const {
    write_text(folder_.path() + "/" + name, text);
  }
  IngestPlan plan(const std::string& source = "") const {
    return plan_ingest(folder_.path() + (source.empty() ? "" : "/" + source), options_);
  }
  /// "name=caption" or "name!reason" for each clip.
  Names planned(const std::string& source = "") const {
    Names out;
    for (const PlannedSource& file : plan(source).sources)
      for (const PlannedClip& clip : file.clips)
        out.push_back(clip.refused.empty() ? clip.name + "=" + clip.caption
                                           : clip.name + "!" + clip.refused.substr(0, 10));
    return out;
  }
  std::string message(const std::string& source = "") const {
    try {
      plan(source);
    } catch (const Error& error) { return error.what(); }
    return "";
  }
  /// Expects an error that holds all of these.
  void expect_error(const Names& parts, const std::string& source = "") const {
    const std::string found = message(source);
    for (const std::string& part : parts)
      EXPECT_NE(found.find(part), std::string::npos) << part << " in: " << found;
  }
  TemporaryFolder folder_;
  IngestPlanOptions options_;
};

TEST_F(PairingTest, GoesByTheWholeStem) {
  for (const char* name : {"a.b.c.mp4", "X.MP4", "v.1/0001.mp4", "clip.mp4", "clip.mov", "none.mp4",
                           "blank.mp4", ".hidden.mp4", "notes.pdf"})
    put(name);
  put("a.b.c.txt", "abc");
  put("X.TXT", "big");
  put("v.1/0001.txt", "one");
  put("clip.txt", "both");
  put("blank.txt", " \n");
  put("alone.txt", "nobody");
  EXPECT_EQ(planned(), (Names{"X.MP4=big", "a.b.c.mp4=abc", "blank.mp4!its captio", "clip.mov=both",
                              "clip.mp4=both", "none.mp4!no caption", "v.1/0001.mp4=one"}));
  options_.missing = MissingCaption::kFilename;
  EXPECT_EQ(planned()[2], "blank.mp4=blank");
  options_.missing = MissingCaption::kEmpty;
  EXPECT_EQ(planned()[5], "none.mp4=");
  options_.missing = MissingCaption::kSkip;
  const IngestPlan found = plan();
  EXPECT_TRUE(found.sources[5].clips[0].skipped);
  EXPECT_EQ(found.ignored_files, 1);
  ASSERT_EQ(found.warnings.size(), 2u);
  EXPECT_NE(found.warnings[0].find("alone.txt"), std::string::npos);
  EXPECT_NE(found.warnings[1].find("clip.txt"), std::string::npos);
}

/// The folder of traps for captions, whole.
TEST_F(PairingTest, CountsEveryCase) {
  const std::string large(100000, 'c');
  const std::pair<const char*, std::string> captions[] = {{"a.b.c.txt", "dots"},
                                                          {"x.TXT", "case"},
                                                          {"clip.txt", "two media"},
                                                          {"empty.txt", ""},
                                                          {"bom.txt",
                                                           "\xef\xbb\xbf"
                                                           "marked\r\n"},
                                                          {"wide.txt", std::string("\xff\xfe"
                                                                                   "w\0i\0d\0e\0",
                                                                                   10)},
                                                          {"large.txt", large},
                                                          {"same1.txt", "the same"},
                                                          {"same2.txt", "the same"},
                                                          {"alone.txt", "nobody's"},
                                                          {"with space.txt", "space"},
                                                          {"\xf0\x9f\x98\x80.txt", "emoji"},
                                                          {"caf\xe9.txt", "latin name"},
                                                          {"latin.txt", "caf\xe9"},
                                                          {"video.v1/0001.txt", "folder with a dot"}};
  for (const auto& [name, text] : captions) put(name, text);
  for (const char* name : {"a.b.c.mp4", "X.MP4", "clip.mp4", "clip.mov", "missing.mp4", "empty.mp4",
                           "bom.mp4", "wide.mp4", "large.mp4", "same1.mp4", "same2.mp4", "with space.mp4",
                           "\xf0\x9f\x98\x80.mp4", "caf\xe9.mp4", "latin.mp4", "video.v1/0001.mp4"})
    put(name);
  EXPECT_EQ(planned(),
            (Names{"X.MP4=case", "a.b.c.mp4=dots", "bom.mp4=marked", "caf\\xe9.mp4=latin name",
                   "clip.mov=two media", "clip.mp4=two media", "empty.mp4!its captio", "large.mp4=" + large,
                   "latin.mp4!the captio", "missing.mp4!no caption", "same1.mp4=the same",
                   "same2.mp4=the same", "video.v1/0001.mp4=folder with a dot", "wide.mp4=wide",
                   "with space.mp4=space", "\xf0\x9f\x98\x80.mp4=emoji"}));
  const PairingReport pairing = plan().pairing;
  EXPECT_EQ(pairing.clips, 16);
  EXPECT_EQ(pairing.with_caption, 13);
  EXPECT_EQ(pairing.without_caption, 1);
  EXPECT_EQ(pairing.empty, 1);
  EXPECT_EQ(pairing.unreadable, 1);
  EXPECT_EQ(pairing.by_case, 1);
  EXPECT_EQ(pairing.unmatched, Names{"alone.txt"});
  EXPECT_EQ(pairing.shared, Names{"clip.txt"});
  EXPECT_EQ(pairing.repeated_captions, 2);
  EXPECT_EQ(pairing.clips_with_repeated_caption, 4);
  EXPECT_EQ(pairing.layouts.at("sidecar"), 13);
  const std::string text = pairing_text(pairing);
  EXPECT_NE(text.find("13 of 16 clips have one (13 by sidecar)"), std::string::npos) << text;
}

TEST_F(PairingTest, PairsByCaseOnlyWhereNothingElseCouldBeMeant) {
  for (const char* name : {"A.mp4", "a.mp4", "B.mp4"}) put(name);
  put("a.txt", "small");
  put("b.txt", "one");
  put("b.caption", "one");
  put("B.TXT", "two");
  EXPECT_EQ(planned(), (Names{"A.mp4!no caption", "B.mp4=two", "a.mp4=small"}));
}

TEST_F(PairingTest, ReadsEveryKindOfSidecar) {
  for (const char* name : {"a.mp4", "b.mp4", "c.mp4", "d.mp4", "e.mp4"}) put(name);
  put("a.caption", "A");
  put("b.json", "{\"caption\":\"B\",\"fps\":25}");
  put("c.json", "{\"prompt\":[\"C1\",\"C2\"]}");
  put("d.json", "{\"width\":3}");
  put("e.txt", "one");
  put("e.caption", "two");
  EXPECT_EQ(planned(), (Names{"a.mp4=A", "b.mp4=B", "c.mp4=C1", "d.mp4!no caption", "e.mp4!two differ"}));
  EXPECT_EQ(plan().pairing.with_alternatives, 1);
  options_.each_alternative = true;
  EXPECT_EQ(planned()[3], "c.mp4#caption1=C2");
}

TEST_F(PairingTest, ReadsLinesAsOneCaptionOrAsAlternatives) {
  put("a.mp4");
  put("a.txt", "one\n\ntwo\r\n");
  EXPECT_EQ(planned(), Names{"a.mp4=one two"});
  EXPECT_NE(plan().warnings.at(0).find("--caption-lines split"), std::string::npos);
  options_.captions.split_lines = true;
  EXPECT_EQ(planned(), Names{"a.mp4=one"});
  EXPECT_NE(plan().warnings.at(0).find("--alternatives each"), std::string::npos);
  options_.each_alternative = true;
  EXPECT_EQ(planned(), (Names{"a.mp4#caption0=one", "a.mp4#caption1=two"}));
}

TEST_F(PairingTest, ReadsSplitFolders) {
  put("set/videos/a.mp4");
  put("set/videos/sub/b.mp4");
  put("set/metas/a.txt", "A");
  put("set/metas/sub/b.txt", "B");
  put("set/metas/c.txt", "C");
  EXPECT_EQ(planned(), (Names{"set/videos/a.mp4=A", "set/videos/sub/b.mp4=B"}));
  EXPECT_EQ(plan().pairing.layouts.at("split"), 2);
  EXPECT_EQ(plan().pairing.unmatched, Names{"set/metas/c.txt"});
}

TEST_F(PairingTest, ReadsParallelListsOfEveryName) {
  for (const char* captions : {"prompts.txt", "prompt.txt", "captions.txt", "caption.txt"})
    for (const char* videos : {"videos.txt", "video.txt"}) {
      const std::string folder = std::string(captions) + "-" + videos + "/";
      put(folder + "v/a.mp4");
      put(folder + "v/b.mp4");
      put(folder + captions, "A\r\n B \n\n");
      put(folder + videos, "v/b.mp4\nv/a.mp4\n");
    }
  const Names found = planned();
  ASSERT_EQ(found.size(), 16u);
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(found[i].ends_with(i % 2 == 0 ? "a.mp4=B" : "b.mp4=A")) << found[i];
}

TEST_F(PairingTest, RefusesListsThatDontMatch) {
  put("v/a.mp4");
  put("prompts.txt", "A\nB\n");
  put("videos.txt", "v/a.mp4\n");
  expect_error({"'prompts.txt' has 2 lines and 'videos.txt' 1"});
  put("videos.txt", "\nv/a.mp4\n");
  expect_error({"'videos.txt' line 1 is blank"});
  put("videos.txt", "v/a.mp4\nv/b.mp4\n");
  EXPECT_EQ(planned(), (Names{"v/a.mp4=A", "v/b.mp4!no such fi"}));
  put("captions.txt", "C\nD\n");
  expect_error({"both 'captions.txt' and 'prompts.txt' could be the list of captions"});
}

TEST_F(PairingTest, ReadsTablesOfEveryFolder) {
  for (const char* name : {"a.mp4", "b.mp4", "sub/c.mp4", "film.mp4", "fast/videos/d.mp4"}) put(name);
  put("b.txt", "B");
  put("metadata.jsonl",
      "{\"video\":\"./a.mp4\",\"caption\":\"A\"}\n{\"video\":\"b.mp4\",\"caption\":\"B\"}\n"
      "{\"video\":\"gone.mp4\",\"caption\":\"G\"}\n"
      "{\"video\":\"film.mp4\",\"caption\":\"first\",\"start\":0,\"end\":2}\n"
      "{\"video\":\"film.mp4\",\"caption\":\"second\",\"start\":2,\"score\":1}\n");
  put("sub/metadata.csv", "file_name,text\nc.mp4,C\nc.mp4,C\n");
  put("fast/videos2caption.json", "[{\"path\":\"d.mp4\",\"cap\":\"D\"}]");
  EXPECT_EQ(planned(), (Names{"a.mp4=A", "b.mp4=B", "fast/videos/d.mp4=D", "film.mp4#0=first",
                              "film.mp4#1=second", "gone.mp4!no such fi", "sub/c.mp4=C"}));
  EXPECT_EQ(plan().warnings, Names{"metadata.jsonl: columns not used: score"});
  put("sub/metadata.csv", "file_name,text\nc.mp4,C\nc.mp4,D\n");
  EXPECT_EQ(planned().back(), "sub/c.mp4!two differ");
}

TEST_F(PairingTest, ListsTheCandidatesWhenLayoutsDisagree) {
  for (const char* name : {"a.mp4", "b.mp4"}) put(name);
  put("a.txt", "from the file");
  put("metadata.csv", "file_name,text\na.mp4,from the table\nb.mp4,B\n");
  expect_error({"can be read in several ways", "1 clips", "a.mp4", "--layout sidecar: a.txt",
                "--layout table: metadata.csv line 2", "say which with --layout sidecar or table"});
  options_.layout = Layout::kTable;
  EXPECT_EQ(planned(), (Names{"a.mp4=from the table", "b.mp4=B"}));
  options_.layout = Layout::kSidecar;
  EXPECT_EQ(planned(), (Names{"a.mp4=from the file", "b.mp4!no caption"}));
}

TEST_F(PairingTest, SaysWhyNothingIsPaired) {
  put("a.mp4");
  put("b.mp4");
  put("a.srt", "A");
  expect_error({"none of 2 clips", "1 *.srt beside clips of the same name", "--missing-caption"});
  put("one.txt", "A");
  expect_error({"1 caption files of other names than any clip's: one.txt"});
  options_.missing = MissingCaption::kEmpty;
  EXPECT_EQ(planned(), (Names{"a.mp4=", "b.mp4="}));
}

TEST_F(PairingTest, ReadsATableAlone) {
  put("lists/train.jsonl",
      "{\"video_path\":\"../clips/a.mp4\",\"caption\":\"A\"}\n{\"video_path\":\"" + folder_.path() +
          "/clips/deep/b.mp4\",\"caption\":\"B\"}\n{\"video_path\":\"none.mp4\",\"caption\":\"C\"}\n");
  put("clips/a.mp4");
  put("clips/deep/b.mp4");
  put("clips/other.mp4");
  EXPECT_EQ(planned("lists/train.jsonl"), (Names{"a.mp4=A", "deep/b.mp4=B", "none.mp4!no such fi"}));
  expect_error({"expected a folder"}, "clips/a.mp4");
  expect_error({"is not there"}, "nowhere");
}

TEST_F(PairingTest, TellsFramesFromPictures) {
  for (const char* name : {"shots/one/1.png", "shots/one/2.png", "shots/one/10.png", "shots/one/4.png"})
    put(name);
  expect_error({"'shots/one' holds 4 numbered pictures", "--picture-folders clip"});
  put("shots/one.txt", "a clip");
  options_.picture_fps = 8;
  EXPECT_EQ(planned(), Names{"shots/one=a clip"});
  EXPECT_EQ(plan().sources[0].location.pictures, (Names{"1.png", "2.png", "4.png", "10.png"}));
  EXPECT_NE(plan().warnings.at(0).find("gaps in their numbers (2 to 4, 4 to 10)"), std::string::npos)
      << plan().warnings[0];
  put("shots/one/1.txt", "a picture");
  expect_error({"Both have captions"});
  options_.picture_folders = PictureFolders::kPictures;
  EXPECT_EQ(planned().size(), 4u);
}

TEST_F(PairingTest, TakesFoldersThatATableNames) {
  for (const char* name : {"one/a.png", "one/b.png", "two/x1.jpg", "two/x2.png"}) put(name);
  put("metadata.jsonl",
      "{\"video_path\":\"one/\",\"caption\":\"A\",\"fps\":12}\n{\"video_path\":\"two\",\"caption\":\"B\"}\n");
  EXPECT_EQ(planned(), (Names{"one=A", "two!its pictur"}));
  EXPECT_EQ(plan().sources[0].location.picture_fps, 12);
  EXPECT_EQ(planned("metadata.jsonl"), (Names{"one=A", "two!its pictur"}));
}

TEST_F(PairingTest, NeverReadsPipesDevicesAndPickles) {
  for (const char* name : {"a.mp4", "b.mp4", "k.pth", "k.pickle", "a.pth"}) put(name);
  ASSERT_EQ(mkfifo((folder_.path() + "/a.txt").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", (folder_.path() + "/b.txt").c_str()), 0);
  EXPECT_EQ(planned(), (Names{"a.mp4!its captio", "b.mp4!its captio", "k.pickle!a Python p"}));
  ASSERT_EQ(mkfifo((folder_.path() + "/metadata.jsonl").c_str(), 0600), 0);
  expect_error({"the table 'metadata.jsonl' can't be used: not a regular file"});
}

TEST_F(PairingTest, WritesNamesThatAreNotUtf8AndKeepsThemApart) {
  put("caf\xe9.mp4");
  put("caf\xe9.txt", "latin");
  put("\xf0\x9f\x98\x80 smile.mp4");
  put("\xf0\x9f\x98\x80 smile.txt", "emoji");
  EXPECT_EQ(planned(), (Names{"caf\\xe9.mp4=latin", "\xf0\x9f\x98\x80 smile.mp4=emoji"}));
  put("two\nlines.mp4");
  options_.missing = MissingCaption::kEmpty;
  EXPECT_EQ(planned()[1], "two\\x0alines.mp4=");
  options_.missing = MissingCaption::kError;
  put("caf\\xe9.mp4");
  for (const std::string& clip : planned())
    EXPECT_TRUE(!clip.starts_with("caf") || clip == "caf\\xe9.mp4!another fi") << clip;
}

}  // namespace
}  // namespace zoetrope
