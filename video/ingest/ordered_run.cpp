#include "video/ingest/ordered_run.h"

#include <utility>

namespace zoetrope {

void OrderedRun::run(int64_t count, const std::function<std::vector<ReadyClip>(int64_t)>& task) {
  waiting_.resize(size_t(count));
  pool_.parallel_for(count, [&](int64_t index) {
    if (!wait_for_turn(index)) return;
    try {
      deliver(index, task(index));
    } catch (...) {
      const std::lock_guard guard(lock_);
      failed_ = true;
      moved_.notify_all();
      throw;
    }
  });
}

bool OrderedRun::wait_for_turn(int64_t index) {
  std::unique_lock guard(lock_);
  moved_.wait(guard, [&] { return failed_ || index < next_ + window_; });
  return !failed_;
}

void OrderedRun::deliver(int64_t index, std::vector<ReadyClip> clips) {
  const std::lock_guard guard(lock_);
  waiting_[size_t(index)] = std::move(clips);
  while (!failed_ && next_ < int64_t(waiting_.size()) && waiting_[size_t(next_)]) {
    failed_ = true;  // if the sink throws, nobody else may hand it these clips again
    sink_(*waiting_[size_t(next_)]);
    failed_ = false;
    waiting_[size_t(next_++)].reset();
  }
  moved_.notify_all();
}

}  // namespace zoetrope
