// Captions and metadata tables as people write them.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/media.h"
#include "tests/support/small_dataset.h"
#include "video/sources/captions.h"
#include "video/sources/ingest_plan.h"

namespace zoetrope {
namespace {

using testing_support::TemporaryFolder;
using testing_support::write_text;

TEST(Caption, IsReadFromEveryUsualEncoding) {
  EXPECT_EQ(caption_from_bytes("  a dog\n"), "a dog");
  EXPECT_EQ(caption_from_bytes("\xef\xbb\xbf"
                               "a dog\r\n"),
            "a dog");
  EXPECT_EQ(caption_from_bytes("one\r\ntwo\n\nthree"), "one two three");
  EXPECT_EQ(caption_from_bytes(std::string("\xff\xfe"
                                           "d\0\xf6\0g\0",
                                           8)),
            "d\xc3\xb6g");
  EXPECT_EQ(caption_from_bytes(std::string("\xfe\xff"
                                           "\0d\0\xf6\0g",
                                           8)),
            "d\xc3\xb6g");
  EXPECT_EQ(caption_from_bytes(std::string("\xff\xfe\x3d\xd8\x00\xde", 6)), "\xf0\x9f\x98\x80");
  EXPECT_EQ(caption_from_bytes(""), "");
  EXPECT_EQ(caption_from_bytes(" \n\t "), "");
  const std::string large(100000, 'x');
  EXPECT_EQ(caption_from_bytes(large), large);
}

TEST(Caption, IsRefusedInUnknownEncodings) {
  EXPECT_THROW(caption_from_bytes("caf\xe9"), Error);
  EXPECT_THROW(caption_from_bytes(std::string("d\0o\0g\0", 6)), Error);
  EXPECT_THROW(caption_from_bytes(std::string("\xff\xfe\x3d\xd8", 4)), Error);
  EXPECT_THROW(caption_from_bytes("\xed\xa0\x80"), Error);
}

std::vector<std::string> fields_of(const std::string& text) {
  std::vector<std::string> all;
  for (const CsvRecord& record : parse_csv(text, "t.csv"))
    for (const std::string& field : record.fields) all.push_back(std::to_string(record.line) + ":" + field);
  return all;
}

TEST(Csv, FollowsTheStandardAndForgivesBlanks) {
  using Fields = std::vector<std::string>;
  EXPECT_EQ(fields_of("a,b\n1,2\n"), (Fields{"1:a", "1:b", "2:1", "2:2"}));
  EXPECT_EQ(fields_of("a, b \r\n 1 ,\"x, \"\"y\"\"\"\r\n"), (Fields{"1:a", "1:b", "2:1", "2:x, \"y\""}));
  EXPECT_EQ(fields_of("a, \"two\nlines\"\n\nb,c"), (Fields{"1:a", "1:two\nlines", "4:b", "4:c"}));
  EXPECT_EQ(fields_of("a,,\n"), (Fields{"1:a", "1:", "1:"}));
  EXPECT_EQ(fields_of("\"\"\n"), (Fields{"1:"}));
  EXPECT_EQ(fields_of("5\" disk,b\n"), (Fields{"1:5\" disk", "1:b"}));
  EXPECT_EQ(fields_of(""), Fields{});
  EXPECT_THROW(fields_of("a,\"b\n"), Error);
  EXPECT_THROW(fields_of("\"a\"b,c\n"), Error);
}

TEST(Metadata, TakesTheUsualColumns) {
  const auto csv =
      read_metadata_csv("File_Name , text, extra\na.mp4, \"a dog, running\", 1\nb.mp4,,2\n", "metadata.csv");
  ASSERT_EQ(csv.size(), 2u);
  EXPECT_EQ(csv[0].media, "a.mp4");
  EXPECT_EQ(csv[0].caption, "a dog, running");
  EXPECT_EQ(csv[1].line, 3);
  EXPECT_EQ(csv[1].caption, "");
  const auto lines = read_metadata_jsonl(
      "{\"video\":\"a.mp4\",\"prompt\":\"x\",\"start\":1.5,\"end\":\"3\"}\n\n{\"path\":\"b\",\"fps\":8}\n",
      "m");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].start.value().value(), 1.5);
  EXPECT_EQ(lines[0].end.value().value(), 3.0);
  EXPECT_EQ(lines[1].line, 3);
  EXPECT_FALSE(lines[1].caption.has_value());
}

/// The message that a bad table gives.
template <class Read>
std::string message_of(Read&& read) {
  try {
    read();
  } catch (const Error& error) { return error.what(); }
  return "";
}

TEST(Metadata, NamesTheLineOfWhatIsWrong) {
  const std::pair<const char*, const char*> csv[] = {
      {"video,caption\na.mp4\n", "line 2: 1 fields"},
      {"caption\nx\n", "line 2: no media path"},
      {"video,video\na,b\n", "two columns"},
      {"video,start\na.mp4,soon\n", "line 2: start is 'soon'"},
      {"video,start,end\na.mp4,3,2\n", "not after the start"},
      {"video,caption\na.mp4,caf\xe9\n", "line 2: the caption is not UTF-8"}};
  for (const auto& [text, expected] : csv) {
    const std::string found =
        message_of([&, t = std::string(text)] { read_metadata_csv(t, "metadata.csv"); });
    EXPECT_NE(found.find(expected), std::string::npos) << text << found;
  }
  for (const char* text : {"{\"video\":\"a\"", "[1]", "{\"video\":[1]}", "{\"caption\":\"x\"}"}) {
    const std::string found =
        message_of([&, t = std::string(text)] { read_metadata_jsonl("\n" + t + "\n", "metadata.jsonl"); });
    EXPECT_NE(found.find("'metadata.jsonl' line 2"), std::string::npos) << text << found;
  }
}

/// "name=caption" or "name!reason" for each planned clip.
std::vector<std::string> planned(const std::string& folder, MissingCaption missing = MissingCaption::kError) {
  std::vector<std::string> out;
  for (const PlannedSource& source : plan_ingest(folder, missing).sources)
    for (const PlannedClip& clip : source.clips)
      out.push_back(clip.refused.empty() ? clip.name + "=" + clip.caption
                                         : clip.name + "!" + clip.refused.substr(0, 10));
  return out;
}

TEST(Pairing, GoesByTheWholeStem) {
  const TemporaryFolder folder;
  for (const char* name : {"a.b.c.mp4", "X.MP4", "v.1/0001.mp4", "clip.mp4", "clip.mov", "none.mp4",
                           "blank.mp4", ".hidden.mp4", "notes.pdf"})
    write_text(folder.path() + "/" + name, "x");
  write_text(folder.path() + "/a.b.c.txt", "abc");
  write_text(folder.path() + "/X.TXT", "big");
  write_text(folder.path() + "/v.1/0001.txt", "one");
  write_text(folder.path() + "/clip.txt", "both");
  write_text(folder.path() + "/blank.txt", " \n");
  write_text(folder.path() + "/alone.txt", "nobody");
  using Names = std::vector<std::string>;
  EXPECT_EQ(planned(folder.path()),
            (Names{"X.MP4=big", "a.b.c.mp4=abc", "blank.mp4!its captio", "clip.mov=both", "clip.mp4=both",
                   "none.mp4!no caption", "v.1/0001.mp4=one"}));
  EXPECT_EQ(planned(folder.path(), MissingCaption::kFilename)[2], "blank.mp4=blank");
  EXPECT_EQ(planned(folder.path(), MissingCaption::kEmpty)[5], "none.mp4=");
  const IngestPlan plan = plan_ingest(folder.path(), MissingCaption::kSkip);
  EXPECT_TRUE(plan.sources[5].clips[0].skipped);
  EXPECT_EQ(plan.ignored_files, 1);
  ASSERT_EQ(plan.warnings.size(), 2u);
  EXPECT_NE(plan.warnings[0].find("alone.txt"), std::string::npos);
  EXPECT_NE(plan.warnings[1].find("clip.txt"), std::string::npos);
}

TEST(Pairing, ReadsTablesOfEveryFolder) {
  const TemporaryFolder folder;
  for (const char* name : {"a.mp4", "b.mp4", "sub/c.mp4", "film.mp4"})
    write_text(folder.path() + "/" + name, "x");
  write_text(folder.path() + "/b.txt", "from the file");
  write_text(folder.path() + "/metadata.jsonl",
             "{\"video\":\"./"
             "a.mp4\",\"caption\":\"A\"}\n{\"video\":\"b.mp4\",\"caption\":\"B\"}\n{\"video\":\"gone.mp4\","
             "\"caption\":\"G\"}\n"
             "{\"video\":\"film.mp4\",\"caption\":\"first\",\"start\":0,\"end\":2}\n{\"video\":\"film.mp4\","
             "\"caption\":\"second\",\"start\":2}\n");
  write_text(folder.path() + "/sub/metadata.csv", "file_name,text\nc.mp4,C\nc.mp4,C\n");
  using Names = std::vector<std::string>;
  EXPECT_EQ(planned(folder.path()), (Names{"a.mp4=A", "b.mp4=from the file", "film.mp4#0=first",
                                           "film.mp4#1=second", "gone.mp4!no such fi", "sub/c.mp4=C"}));
  write_text(folder.path() + "/sub/metadata.csv", "file_name,text\nc.mp4,C\nc.mp4,D\n");
  EXPECT_EQ(planned(folder.path()).back(), "sub/c.mp4!two differ");
}

TEST(Pairing, NeverReadsPipesAndDevices) {
  const TemporaryFolder folder;
  for (const char* name : {"a.mp4", "b.mp4"}) write_text(folder.path() + "/" + name, "x");
  ASSERT_EQ(mkfifo((folder.path() + "/a.txt").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", (folder.path() + "/b.txt").c_str()), 0);
  EXPECT_EQ(planned(folder.path()), (std::vector<std::string>{"a.mp4!its captio", "b.mp4!its captio"}));
  ASSERT_EQ(mkfifo((folder.path() + "/metadata.jsonl").c_str(), 0600), 0);
  EXPECT_THROW(planned(folder.path()), Error);
}

TEST(Pairing, WritesNamesThatAreNotUtf8AndKeepsThemApart) {
  const TemporaryFolder folder;
  write_text(folder.path() + "/caf\xe9.mp4", "x");
  write_text(folder.path() + "/caf\xe9.txt", "latin");
  write_text(folder.path() + "/\xf0\x9f\x98\x80 smile.mp4", "x");
  write_text(folder.path() + "/\xf0\x9f\x98\x80 smile.txt", "emoji");
  EXPECT_EQ(planned(folder.path()),
            (std::vector<std::string>{"caf\\xe9.mp4=latin", "\xf0\x9f\x98\x80 smile.mp4=emoji"}));
  write_text(folder.path() + "/two\nlines.mp4", "x");
  EXPECT_EQ(planned(folder.path(), MissingCaption::kEmpty)[1], "two\\x0alines.mp4=");
  write_text(folder.path() + "/caf\\xe9.mp4", "x");
  for (const std::string& clip : planned(folder.path()))
    EXPECT_TRUE(!clip.starts_with("caf") || clip == "caf\\xe9.mp4!another fi") << clip;
}

}  // namespace
}  // namespace zoetrope
