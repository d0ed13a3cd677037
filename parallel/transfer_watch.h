// Watches transfers that a device does by itself: the host is not there to see that one never ends.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/device.h"

namespace zoetrope {

/// A thread that looks at transfers under way, from time to time, and reports the first failure once.
class TransferWatch {
 public:
  struct Actions {
    std::function<std::string()> peer_error;             ///< what the transport says went wrong, or empty
    std::function<void(const std::string&)> on_failure;  ///< runs on the watching thread
  };
  /// `device`: the rank's. Units: seconds.
  TransferWatch(Device device, double timeout_seconds, Actions actions);
  ~TransferWatch();

  /// `done` is recorded behind a transfer; `what` names it.
  void add(const Event& done, std::string what);

 private:
  using Clock = std::chrono::steady_clock;
  struct UnderWay {
    Event done;
    std::string what;
    Clock::time_point since;
  };
  void run(int device_index);
  /// Forgets what is done. Returns: why the oldest that is left can't be waited for any longer, or empty.
  std::string look(std::unique_lock<std::mutex>& lock);

  const Device device_;
  const double timeout_seconds_;
  const Actions actions_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<UnderWay> under_way_;  // in issue order
  bool end_ = false;
  std::thread thread_;
};

}  // namespace zoetrope
