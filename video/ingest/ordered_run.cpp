#include "video/ingest/ordered_run.h"

#include <utility>

namespace zoetrope {
namespace {

constexpr int64_t kMaxWaitingBytes = int64_t(512) << 20;  // eight shards of the default size

int64_t bytes_of(const std::vector<ReadyClip>& clips) {
  int64_t bytes = 0;
  for (const ReadyClip& clip : clips)
    if (clip.tokens.num_tokens() > 0) bytes += int64_t(clip.tokens.tokens.bytes());
  return bytes;
}

}  // namespace

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

bool OrderedRun::is_next(int64_t index) {
  const std::lock_guard guard(lock_);
  return index == next_ && !failed_;
}

bool OrderedRun::wait_for_turn(int64_t index) {
  std::unique_lock guard(lock_);
  // The task whose turn it is may always go on: all others wait for it.
  moved_.wait(guard, [&] {
    return failed_ || index == next_ || (index < next_ + window_ && waiting_bytes_ < kMaxWaitingBytes);
  });
  return !failed_;
}

void OrderedRun::deliver(int64_t index, std::vector<ReadyClip> clips) {
  std::unique_lock guard(lock_);
  waiting_bytes_ += bytes_of(clips);
  ++num_waiting_;
  waiting_[size_t(index)] = std::move(clips);
  // One worker writes; the others leave their clips to it and decode on.
  if (sinking_) return;
  sinking_ = true;  // stays set when the sink throws: nobody else may hand it these clips again
  while (!failed_ && next_ < int64_t(waiting_.size()) && waiting_[size_t(next_)]) {
    std::vector<ReadyClip> ready = std::move(*waiting_[size_t(next_)]);
    waiting_[size_t(next_)].reset();
    --num_waiting_;
    const int64_t bytes = bytes_of(ready), waiting = num_waiting_;
    guard.unlock();
    sink_(ready, waiting);
    ready.clear();
    guard.lock();
    waiting_bytes_ -= bytes;
    ++next_;
    moved_.notify_all();
  }
  sinking_ = false;
}

}  // namespace zoetrope
