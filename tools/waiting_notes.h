// What a command is busy with, said to a user who has waited for some seconds.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace zoetrope {

/// Told what begins now.
using Doing = std::function<void(const std::string&)>;

/// A line on stderr after the first seconds and then now and again, of what was said last; none where a
/// command is quick. Results on stdout stay as they are.
class WaitingNotes {
 public:
  /// `command`: stands before every line.
  explicit WaitingNotes(std::string command, std::chrono::milliseconds first = std::chrono::seconds(5),
                        std::chrono::milliseconds every = std::chrono::seconds(10));
  ~WaitingNotes();
  WaitingNotes(const WaitingNotes&) = delete;
  WaitingNotes& operator=(const WaitingNotes&) = delete;
  void doing(std::string what);

 private:
  void watch(std::chrono::milliseconds first, std::chrono::milliseconds every);

  std::string command_, what_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ended_ = false;
  std::thread watcher_;
};

}  // namespace zoetrope
