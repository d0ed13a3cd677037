// The progress line: what it says, that it fits the terminal, that the first and the last line appear.
#include "tools/progress_line.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>

#include <algorithm>
#include <vector>

namespace zoetrope {
namespace {

using std::chrono::milliseconds;

const ProgressState kBegin{"clips", 100, 1500, 2, 0, 0, 3'000'000'000};
const ProgressState kNow{"clips", 400, 1500, 7, 12'000, 1'000'000'000, 3'000'000'000};

TEST(ProgressText, SaysHowFarAndHowLong) {
  EXPECT_EQ(progress_text(kNow, kBegin, 60, 200),
            "400 of 1,500 clips, 7 refused, 200 frames/s, 1.00 of 3.00 GB, 17 MB/s, 2:00 left");
  EXPECT_EQ(progress_text(kBegin, kBegin, 0, 200), "100 of 1,500 clips, 2 refused, 0.00 of 3.00 GB");
  EXPECT_EQ(progress_text(kNow, kBegin, 7384, 200, true),
            "400 of 1,500 clips, 7 refused, 1.6 frames/s, 1.00 of 3.00 GB, 0.1 MB/s, took 2:03:04");
}

TEST(ProgressText, TimeLeftFollowsFromBytesWhereClipsDiffer) {
  // 300 of 1,400 clips, but a third of the bytes; and from the clips where bytes are not known.
  ProgressState plain = kNow, first = kBegin;
  plain.total_bytes = plain.bytes = first.total_bytes = first.bytes = -1;
  plain.frames = -1;
  EXPECT_EQ(progress_text(plain, first, 60, 200), "400 of 1,500 clips, 7 refused, 3:40 left");
  plain.total = -1;
  EXPECT_EQ(progress_text(plain, first, 60, 200), "400 clips, 7 refused");
}

TEST(ProgressText, FitsAnyWidthAndDropsTheLeastImportant) {
  for (int width = 0; width < 100; ++width)
    EXPECT_LE(int(progress_text(kNow, kBegin, 60, width).size()), width);
  EXPECT_EQ(progress_text(kNow, kBegin, 60, 40), "400 of 1,500 clips, 7 refused, 2:00 left");
  EXPECT_EQ(progress_text(kNow, kBegin, 60, 30), "400 of 1,500 clips, 2:00 left");
  EXPECT_EQ(progress_text(kNow, kBegin, 60, 20), "400 of 1,500 clips");
}

/// What was written to a descriptor's other end until `enough` says stop.
template <class Enough>
std::string read_until(int descriptor, Enough&& enough) {
  std::string text;
  char bytes[4096];
  pollfd waiting{descriptor, POLLIN, 0};
  while (!enough(text) && poll(&waiting, 1, 60'000) > 0) {
    const ssize_t size = read(descriptor, bytes, sizeof bytes);
    if (size <= 0) break;
    text.append(bytes, size_t(size));
  }
  return text;
}

size_t count_of(const std::string& text, char letter) {
  return size_t(std::count(text.begin(), text.end(), letter));
}

TEST(ProgressLine, IsRewrittenOnATerminalAndNeverWiderThanIt) {
  winsize size{24, 40, 0, 0};
  int ours = -1, theirs = -1;
  ASSERT_EQ(openpty(&ours, &theirs, nullptr, nullptr, &size), 0);
  {
    ProgressLine line({false, theirs, milliseconds(1), milliseconds(1)},
                      [](ProgressState& state) { ++state.frames; });
    line.show(kBegin);
    line.show(kNow);
    const std::string begin = read_until(ours, [](const std::string& t) { return count_of(t, '\r') >= 5; });
    EXPECT_EQ(begin.find("\r100 of 1,500 clips, 2 refused"), 0u) << begin;
    EXPECT_EQ(count_of(begin, '\n'), 0u) << begin;
    line.finish();
  }
  // A terminal turns \n into \r\n.
  const std::string rest = read_until(ours, [](const std::string& t) { return count_of(t, '\n') >= 1; });
  EXPECT_NE(rest.find("took 0:00\x1b[K\r\n"), std::string::npos) << rest;
  for (size_t at = rest.find('\r'); at != std::string::npos; at = rest.find('\r', at + 1)) {
    const size_t end = rest.find("\x1b[K", at);
    if (end == std::string::npos) break;
    EXPECT_LT(end - at - 1, 40u) << rest.substr(at, end - at);
  }
  close(ours);
  close(theirs);
}

TEST(ProgressLine, WritesPlainLinesElsewhere) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    ProgressLine line({false, ends[1], milliseconds(1), milliseconds(1)}, {});
    line.show(kBegin);
    const std::string lines =
        read_until(ends[0], [](const std::string& t) { return count_of(t, '\n') >= 3; });
    EXPECT_EQ(lines.find("100 of 1,500 clips, 2 refused, "), 0u) << lines;
    EXPECT_EQ(count_of(lines, '\r') + count_of(lines, '\x1b'), 0u) << lines;
  }
  {
    // At the usual pace a short run has its first and its last line.
    int own[2];
    ASSERT_EQ(pipe(own), 0);
    ProgressLine line({false, own[1]}, {});
    line.show(kBegin);
    line.show(kNow);
    line.finish();
    close(own[1]);
    const std::string lines = read_until(own[0], [](const std::string&) { return false; });
    EXPECT_EQ(count_of(lines, '\n'), 2u) << lines;
    EXPECT_NE(lines.find("400 of 1,500 clips"), std::string::npos) << lines;
    EXPECT_NE(lines.find("took 0:00\n"), std::string::npos) << lines;
    close(own[0]);
  }
  close(ends[0]);
  close(ends[1]);
}

TEST(ProgressLine, SaysNothingWhenQuietOrNeverBegun) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    ProgressLine quiet({true, ends[1], milliseconds(1), milliseconds(1)}, {});
    quiet.show(kNow);
    quiet.finish();
    ProgressLine idle({false, ends[1], milliseconds(1), milliseconds(1)}, {});
    idle.finish();
  }
  close(ends[1]);
  EXPECT_EQ(read_until(ends[0], [](const std::string&) { return false; }), "");
  close(ends[0]);
}

}  // namespace
}  // namespace zoetrope
