// Metadata tables of other projects, as their documentation shows them.
#include <gtest/gtest.h>

#include "core/check.h"
#include "video/sources/metadata_table.h"

namespace zoetrope {
namespace {

/// "media=caption|caption" of each row.
std::vector<std::string> rows_of(const std::string& text, const std::string& name, bool must_be = false) {
  const auto table = read_metadata_table(text, name, must_be);
  std::vector<std::string> out;
  if (!table) return {"no table"};
  for (const MetadataRow& row : table->rows) {
    std::string line = row.media + "=";
    for (size_t i = 0; i < row.captions.size(); ++i) line += (i == 0 ? "" : "|") + row.captions[i];
    out.push_back(line);
  }
  return out;
}

std::string message_of(const std::string& text, const std::string& name) {
  try {
    read_metadata_table(text, name, true);
  } catch (const Error& error) { return error.what(); }
  return "";
}

TEST(Table, ReadsTheCsvOfEveryProject) {
  using Rows = std::vector<std::string>;
  EXPECT_EQ(rows_of("video,prompt\na.mp4,\"a dog, running\"\n", "metadata.csv"),
            (Rows{"a.mp4=a dog, running"}));
  EXPECT_EQ(rows_of("path,text,num_frames,height,width,aspect_ratio,resolution,fps\na.mp4,A,9,4,4,1,16,8\n",
                    "x.csv"),
            (Rows{"a.mp4=A"}));
  EXPECT_EQ(rows_of("path, caption, fps, frames, height, width\r\na.mp4, A, 8, 9, 4, 4\r\n", "x.csv"),
            (Rows{"a.mp4=A"}));
  EXPECT_EQ(rows_of("caption,media_path\n\"two\nlines\",b.mp4\n", "x.csv"), (Rows{"b.mp4=two lines"}));
  EXPECT_EQ(rows_of("file_name,text\nb.mp4,\n", "metadata.csv"), (Rows{"b.mp4="}));
  EXPECT_EQ(rows_of("name,value\na,b\n", "numbers.csv"), (Rows{"no table"}));
  EXPECT_EQ(rows_of("a line, \"that is no table\nat all", "notes.csv"), (Rows{"no table"}));
}

TEST(Table, ReadsTheJsonOfEveryProject) {
  using Rows = std::vector<std::string>;
  EXPECT_EQ(
      rows_of("{\"video_path\":\"/v/a.mp4\",\"caption\":\"A\"}\n\n{\"video_path\":\"b\",\"caption\":\"B\"}\n",
              "m.jsonl"),
      (Rows{"/v/a.mp4=A", "b=B"}));
  EXPECT_EQ(rows_of("[{\"caption\":\"A\",\"media_path\":\"a.mp4\"}]", "m.json"), (Rows{"a.mp4=A"}));
  EXPECT_EQ(rows_of("[{\"path\":\"a.mp4\",\"cap\":[\"A\",\"B\"],\"fps\":25}]", "videos2caption.json"),
            (Rows{"a.mp4=A|B"}));
  EXPECT_EQ(rows_of("{\"a.mp4\":[\"A\",\"B\"],\"b.mp4\":[\"C\"]}", "captions.json"),
            (Rows{"a.mp4=A|B", "b.mp4=C"}));
  EXPECT_EQ(rows_of("{\"size\":3}\n{\"size\":4}\n", "log.jsonl"), (Rows{"no table"}));
  EXPECT_EQ(rows_of("{\"name\":\"x\",\"version\":\"1\"}", "package.json"), (Rows{"no table"}));
  EXPECT_EQ(read_caption_json("{\"caption\":\"A\",\"width\":3}"), (std::vector<std::string>{"A"}));
  EXPECT_FALSE(read_caption_json("{\"width\":3}").has_value());
}

TEST(Table, TakesPartsExactlyAndListsOtherColumns) {
  const auto table = read_metadata_table("Video,Start,end,score,flow,height,fps\nf.mp4,0.1,1.5,3,4,5,29.97\n",
                                         "metadata.csv", true);
  ASSERT_EQ(table->rows.size(), 1u);
  EXPECT_TRUE(*table->rows[0].start == (Ratio{1, 10}));
  EXPECT_TRUE(*table->rows[0].end == (Ratio{3, 2}));
  EXPECT_EQ(table->rows[0].fps, 29.97);
  EXPECT_EQ(table->unknown, (std::vector<std::string>{"score", "flow"}));
  EXPECT_EQ(table->answered, (std::vector<std::string>{"height"}));
}

TEST(Table, NamesTheLineOfWhatIsWrong) {
  const std::pair<const char*, const char*> csv[] = {
      {"video,caption\na.mp4\n", "line 2: 1 fields"},
      {"caption\nx\n", "line 2: no media path"},
      {"video,video\na,b\n", "two columns"},
      {"video,start\na.mp4,soon\n", "line 2: start is 'soon'"},
      {"video,start,end\na.mp4,3,2\n", "not after the start"},
      {"video,path\na.mp4,b.mp4\n", "both 'video' and 'path' name a media file"},
      {"video,caption,text\na.mp4,A,B\n", "both 'caption' and 'text' name a caption"},
      {"video,caption\na.mp4,caf\xe9\n", "line 2: the caption is not UTF-8"}};
  for (const auto& [text, expected] : csv) {
    const std::string found = message_of(text, "metadata.csv");
    EXPECT_NE(found.find(expected), std::string::npos) << text << found;
  }
  for (const char* text : {"{\"video\":\"a\"", "[1]", "{\"video\":[\"a\",\"b\"]}", "{\"caption\":\"x\"}"}) {
    const std::string found = message_of("\n" + std::string(text) + "\n", "metadata.jsonl");
    EXPECT_NE(found.find("'metadata.jsonl' line 2"), std::string::npos) << text << found;
  }
  EXPECT_NE(message_of("{\"a.mp4\":3}", "captions.json").find("expected a list of objects"),
            std::string::npos);
  EXPECT_NE(message_of(std::string(100000, '['), "m.json").find("'m.json'"), std::string::npos);
  EXPECT_NE(message_of("[{\"path\":\"a\"},3]", "m.json").find("entry 2: not a JSON object"),
            std::string::npos);
}

}  // namespace
}  // namespace zoetrope
