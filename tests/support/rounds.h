// How many random batches a law is tried on.
#pragma once

namespace zoetrope {

/// So many, and an eighth of them where sanitizers make each take ten times as long.
constexpr int rounds(int wanted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return (wanted + 7) / 8;
#else
  return wanted;
#endif
}

}  // namespace zoetrope
