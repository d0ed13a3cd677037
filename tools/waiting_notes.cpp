#include "tools/waiting_notes.h"

#include "core/check.h"
#include "core/log.h"

namespace zoetrope {

WaitingNotes::WaitingNotes(std::string command, std::chrono::milliseconds first,
                           std::chrono::milliseconds every)
    : command_(std::move(command)), watcher_([this, first, every] { watch(first, every); }) {}

WaitingNotes::~WaitingNotes() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ends_.notify_all();
  watcher_.join();
}

void WaitingNotes::doing(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

void WaitingNotes::watch(std::chrono::milliseconds first, std::chrono::milliseconds every) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (auto next = start + first; !ends_.wait_until(lock, next, [this] { return ended_; }); next += every) {
    if (what_.empty()) continue;
    const auto passed = std::chrono::duration_cast<std::chrono::seconds>(next - start);
    log_info(join_message(command_, ": ", passed.count(), " s: ", what_));
  }
}

}  // namespace zoetrope
