// Keeps two ranks in step without the transport, so that counts of its calls mean the same on a busy machine.
#pragma once

#include <atomic>
#include <cstdint>

#include "parallel/comm.h"

namespace zoetrope::test {

/// One counter per rank in memory that both processes (or threads) map.
class Pace {
 public:
  explicit Pace(Comm& comm);
  ~Pace();
  Pace(const Pace&) = delete;
  Pace& operator=(const Pace&) = delete;
  /// Counts this rank's step and waits until the other rank has made it too.
  void step();
  /// Whether `mine` is true on both ranks.
  bool both(bool mine);

 private:
  std::atomic<int64_t>* counters_ = nullptr;
  int rank_;
};

}  // namespace zoetrope::test
