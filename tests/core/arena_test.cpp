#include "core/arena.h"

#include <gtest/gtest.h>

#include <string>

namespace zoetrope {
namespace {

TEST(Arena, CountsAndFreesInReverse) {
  Arena arena(1024, Device::kCpu, "test");
  const Tensor first = arena.take({3}, DType::kF32);
  const int64_t mark = arena.mark();
  const Tensor second = arena.take({5, 7}, DType::kF32);
  EXPECT_EQ(arena.mark(), Arena::padded(first.bytes()) + Arena::padded(second.bytes()));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second.raw()) % 64, 0u);
  arena.release(mark);
  EXPECT_EQ(arena.take({1}, DType::kU8).raw(), second.raw());
  EXPECT_EQ(arena.high_water_bytes(), Arena::padded(12) + Arena::padded(140));
}

TEST(Arena, SaysWhatItHadAndWhatWasNeeded) {
  Arena arena(128, Device::kCpu, "activations");
  try {
    arena.take({1000}, DType::kF32);
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const char* part : {"activations", "128", "4032", "[1000] f32"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Arena, IsReservedOnce) {
  Arena arena(0, Device::kCpu, "late");
  EXPECT_THROW(arena.take({1}, DType::kF32), Error);
  arena.reserve(64);
  EXPECT_NO_THROW(arena.take({16}, DType::kF32));
  EXPECT_THROW(arena.reserve(64), Error);
}

}  // namespace
}  // namespace zoetrope
