// Caption texts and CSV as people write them.
#include <gtest/gtest.h>

#include "core/check.h"
#include "video/sources/captions.h"

namespace zoetrope {
namespace {

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

}  // namespace
}  // namespace zoetrope
