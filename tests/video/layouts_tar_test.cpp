// Members of tar archives, as the tar command writes them in each of its formats.
#include <gtest/gtest.h>
#include <filesystem>

#include "core/check.h"
#include "core/files.h"
#include "tests/support/media.h"
#include "tests/support/process.h"
#include "tests/support/small_dataset.h"
#include "video/media/media_location.h"
#include "video/sources/tar_index.h"

namespace zoetrope {
namespace {

using testing_support::run_process;
using testing_support::TemporaryFolder;
using testing_support::write_text;

class Tar : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  /// Archives the files of `in` as `name`.
  std::string archive(const std::string& name, std::vector<std::string> options) const {
    std::vector<std::string> command = {"tar", "-C", path("in"), "-cf", path(name)};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back(".");
    EXPECT_EQ(run_process(command).exit_code, 0);
    return path(name);
  }
  std::string content_of(const std::string& archive, const std::string& name) const {
    for (const TarMember& member : read_tar_index(archive).members)
      if (member.name == name) {
        MediaLocation location(archive);
        location.offset = member.offset;
        location.size = member.size;
        return read_bytes(location, 1 << 20);
      }
    return "not there";
  }
  std::string message_of(const std::string& archive) const { return read_tar_index(archive).problem; }
  TemporaryFolder folder_;
};

TEST_F(Tar, FindsEveryMemberInEveryFormat) {
  const std::string deep = std::string(60, 'd') + "/" + std::string(80, 'e') + "/file.txt";
  const std::string large(1300, 'L');
  write_text(path("in/a.txt"), "A");
  write_text(path("in/empty.txt"), "");
  write_text(path("in/sub/large.txt"), large);
  write_text(path("in/" + deep), "deep");
  std::filesystem::create_symlink("a.txt", path("in/link.txt"));
  for (const std::string format : {"gnu", "oldgnu", "pax", "ustar"}) {
    SCOPED_TRACE(format);
    const std::string file = archive(format + ".tar", {"--format=" + format});
    EXPECT_EQ(read_tar_index(file).members.size(), 5u);
    EXPECT_EQ(read_tar_index(file).problem, "");
    EXPECT_EQ(content_of(file, "a.txt"), "A");
    EXPECT_EQ(content_of(file, "empty.txt"), "");
    EXPECT_EQ(content_of(file, "sub/large.txt"), large);
    EXPECT_EQ(content_of(file, deep), "deep");
    for (const TarMember& member : read_tar_index(file).members)
      EXPECT_EQ(member.name == "link.txt", !member.refused.empty()) << member.name;
  }
  const std::string name = "n" + std::string(200, 'x') + ".txt";
  write_text(path("in/" + name), "long");
  for (const std::string format : {"gnu", "pax"})
    EXPECT_EQ(content_of(archive("long.tar", {"--format=" + format}), name), "long");
}

TEST_F(Tar, TakesTheLastOfTwoMembersOfOneName) {
  write_text(path("in/a.txt"), "first");
  const std::string file = archive("a.tar", {});
  write_text(path("in/a.txt"), "second");
  EXPECT_EQ(run_process({"tar", "-C", path("in"), "-rf", file, "./a.txt"}).exit_code, 0);
  EXPECT_EQ(read_tar_index(file).members.size(), 1u);
  EXPECT_EQ(content_of(file, "a.txt"), "second");
}

TEST_F(Tar, SaysWhatIsWrongWithAnArchive) {
  write_text(path("in/a.txt"), std::string(2000, 'a'));
  write_text(path("in/b.txt"), "b");
  EXPECT_NE(message_of(archive("a.tar", {"-z"})).find("compressed with gzip"), std::string::npos);
  const std::string bytes = read_file(archive("b.tar", {"--format=ustar"}));
  write_text(path("text.tar"), std::string(600, 't'));
  EXPECT_NE(message_of(path("text.tar")).find("not a tar archive"), std::string::npos);
  write_text(path("short.tar"), "t");
  EXPECT_NE(message_of(path("short.tar")).find("cut off"), std::string::npos);
  std::string damaged = bytes;
  damaged[512 + 3] = '!';  // in the name of the first member after the folder
  write_text(path("damaged.tar"), damaged);
  EXPECT_NE(message_of(path("damaged.tar")).find("no header at byte 512"), std::string::npos);
  write_text(path("cut.tar"), bytes.substr(0, 512 + 512 + 100));
  const TarIndex cut = read_tar_index(path("cut.tar"));
  EXPECT_NE(cut.problem.find("cut off"), std::string::npos) << cut.problem;
  ASSERT_EQ(cut.members.size(), 1u);
  EXPECT_EQ(cut.members[0].refused.empty(), cut.members[0].name == "b.txt");
}

/// Every byte of the headers set to every few values: an error or an index within the file, never more.
TEST_F(Tar, NeverLeavesTheFile) {
  write_text(path("in/a.txt"), "A");
  const std::string bytes = read_file(archive("a.tar", {"--format=pax", "--pax-option=comment=x"}));
  for (size_t at = 0; at < std::min<size_t>(bytes.size(), 3 * 512); ++at)
    for (const char value : {'\0', '\x80', '\xff', '7', 'x', 'L'}) {
      std::string changed = bytes;
      changed[at] = value;
      // A right checksum, so that what is behind it is read.
      for (size_t header = 0; header < 3 * 512; header += 512) {
        int64_t sum = 0;
        for (size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : uint8_t(changed[header + i]);
        char text[16];
        std::snprintf(text, sizeof text, "%06llo", static_cast<unsigned long long>(sum));
        if (at / 512 == header / 512 && (at < header + 148 || at >= header + 156))
          changed.replace(header + 148, 7, std::string(text, 7));
      }
      write_text(path("x.tar"), changed);
      for (const TarMember& member : read_tar_index(path("x.tar")).members)
        ASSERT_TRUE(member.offset >= 0 && member.size >= 0 &&
                    member.offset + member.size <= int64_t(bytes.size()))
            << at << " " << int(value);
    }
}

}  // namespace
}  // namespace zoetrope
