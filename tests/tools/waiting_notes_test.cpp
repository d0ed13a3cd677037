// Notes for users who wait: what is said, and that quick commands say nothing.
#include "tools/waiting_notes.h"

#include <gtest/gtest.h>

namespace zoetrope {
namespace {

using std::chrono::milliseconds;

TEST(WaitingNotes, SayWhatIsGoingOnUntilItEnds) {
  testing::internal::CaptureStderr();
  {
    WaitingNotes notes("plan", milliseconds(1), milliseconds(1));
    notes.doing("planner dynamic");
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < milliseconds(200)) std::this_thread::yield();
    notes.doing("planner elastic");
    const auto again = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - again < milliseconds(200)) std::this_thread::yield();
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("plan: 0 s: planner dynamic\n"), std::string::npos) << said;
  EXPECT_NE(said.find("plan: 0 s: planner elastic\n"), std::string::npos) << said;
}

TEST(WaitingNotes, SayNothingOfWhatIsQuick) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 100; ++i) WaitingNotes("plan", std::chrono::hours(1)).doing("planner elastic");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace zoetrope
