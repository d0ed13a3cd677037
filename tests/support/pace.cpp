#include "tests/support/pace.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "core/check.h"

namespace zoetrope::test {

Pace::Pace(Comm& comm) : rank_(comm.rank()) {
  static std::atomic<int64_t> made = 0;
  int64_t key[2] = {getpid(), made.fetch_add(1)};
  comm.broadcast(key, sizeof key, 0);
  const std::string name = "/zoetrope-pace-" + std::to_string(key[0]) + "-" + std::to_string(key[1]);
  const int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
  ZT_CHECK(file >= 0 && ftruncate(file, 4096) == 0, "shared memory ", name, " can't be made");
  counters_ =
      static_cast<std::atomic<int64_t>*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  close(file);
  comm.barrier();
  if (rank_ == 0) shm_unlink(name.c_str());
}

Pace::~Pace() { munmap(counters_, 4096); }

void Pace::step() {
  const int64_t mine = counters_[rank_].fetch_add(1) + 1;
  while (counters_[1 - rank_].load() < mine) std::this_thread::yield();
}

bool Pace::both(bool mine) {
  counters_[2 + rank_].store(mine);
  step();
  const bool all = counters_[2].load() != 0 && counters_[3].load() != 0;
  step();  // nobody stores its next answer before both have read
  return all;
}

}  // namespace zoetrope::test
