// Clips decoded by many workers, handed over in the order of their sources. Used by video/ingest.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "core/thread_pool.h"
#include "video/ingest/ready_clip.h"

namespace zoetrope {

/// Runs tasks in parallel and hands results over in order, never more than a few tasks ahead.
class OrderedRun {
 public:
  /// `sink` gets the results of each task, one call at a time.
  OrderedRun(int64_t workers, std::function<void(std::vector<ReadyClip>&)> sink)
      : pool_(int(workers)), window_(2 * workers), sink_(std::move(sink)) {}

  /// Runs tasks 0 to count - 1. Throws: what a task or the sink throws first.
  void run(int64_t count, const std::function<std::vector<ReadyClip>(int64_t)>& task);

 private:
  bool wait_for_turn(int64_t index);
  void deliver(int64_t index, std::vector<ReadyClip> clips);

  ThreadPool pool_;
  int64_t window_, next_ = 0;
  std::function<void(std::vector<ReadyClip>&)> sink_;
  std::vector<std::optional<std::vector<ReadyClip>>> waiting_;
  std::mutex lock_;
  std::condition_variable moved_;
  bool failed_ = false;
};

}  // namespace zoetrope
