// Messages quote what users name and files hold, and must not steer the terminal that shows them.
#include "core/log.h"

#include <gtest/gtest.h>

namespace zoetrope {
namespace {

std::string shown(const std::string& message) {
  testing::internal::CaptureStderr();
  log_error(message);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, TextStaysAsItIs) {
  for (const std::string text :
       {"one\ntwo\tthree", "\xc3\xa9 \xe2\x89\xa4 \xf0\x9f\x8e\xa1", "back\\slash", ""})
    EXPECT_EQ(shown(text), "error: " + text + "\n");
}

TEST(Log, ControlsAndBrokenUtf8AreEscaped) {
  const std::pair<std::string, const char*> cases[] = {
      {"\x1b[2J", "\\x1b[2J"},
      {"a\rb\x7f", "a\\x0db\\x7f"},
      {std::string("\0x", 2), "\\x00x"},  // a NUL would end the line for some readers
      {"\xc2\x9b", "\\xc2\\x9b"},
      {"\xff\xfe", "\\xff\\xfe"},
      {"\xc3", "\\xc3"},
      {"\xe2\x89", "\\xe2\\x89"},
      {"\xc0\xaf", "\\xc0\\xaf"},
      {"\xf0\x9f\x8ez", "\\xf0\\x9f\\x8ez"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(shown(text), "error: " + std::string(expected) + "\n");
}

}  // namespace
}  // namespace zoetrope
