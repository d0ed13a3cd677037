#include "parallel/transfer_watch.h"

#include <algorithm>

#include "core/check.h"

namespace zoetrope {

TransferWatch::TransferWatch(Device device, double timeout_seconds, Actions actions)
    : device_(device), timeout_seconds_(timeout_seconds), actions_(std::move(actions)) {
  ZT_REQUIRE(timeout_seconds > 0, "a time-out of ", timeout_seconds, " s; it must be positive");
  thread_ = std::thread([this, index = device_info(device).index] { run(index); });
}

TransferWatch::~TransferWatch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void TransferWatch::add(const Event& done, std::string what) {
  const std::lock_guard<std::mutex> lock(mutex_);
  under_way_.push_back({done, std::move(what), Clock::now()});
}

std::string TransferWatch::look(std::unique_lock<std::mutex>& lock) {
  lock.unlock();  // who adds a transfer may hold what the transport is asked under
  std::string error = actions_.peer_error();
  lock.lock();
  while (!under_way_.empty() && under_way_.front().done.complete()) under_way_.pop_front();
  if (!error.empty() || under_way_.empty()) return error;
  const UnderWay& oldest = under_way_.front();
  const double seconds = std::chrono::duration<double>(Clock::now() - oldest.since).count();
  if (seconds < timeout_seconds_) return "";
  return join_message(oldest.what, " is under way for ", seconds, " s, the limit is ", timeout_seconds_,
                      " s: a peer has failed or is late");
}

void TransferWatch::run(int device_index) {
  const std::chrono::duration<double> pause(std::min(1.0, timeout_seconds_ / 8));
  std::string failure;
  try {
    select_device(device_, device_index);
    std::unique_lock<std::mutex> lock(mutex_);
    while (failure.empty() && !ended_.wait_for(lock, pause, [this] { return end_; })) failure = look(lock);
  } catch (const std::exception& error) { failure = error.what(); }
  if (!failure.empty()) actions_.on_failure(failure);
}

}  // namespace zoetrope
