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

/// Runs tasks in parallel and hands results over in order. What waits is bounded: a worker starts a task only
/// when it is at most a few tasks ahead and the results that wait are below some bytes.
class OrderedRun {
 public:
  /// Gets the results of each task, one call at a time, and how many other tasks wait for their turn.
  using Sink = std::function<void(std::vector<ReadyClip>& clips, int64_t waiting)>;
  OrderedRun(int64_t workers, Sink sink)
      : pool_(int(workers)), window_(2 * workers), sink_(std::move(sink)) {}

  /// Runs tasks 0 to count - 1. Throws: what a task or the sink throws first.
  void run(int64_t count, const std::function<std::vector<ReadyClip>(int64_t)>& task);
  /// Whether all tasks before this one were handed over: until it is itself, nothing else is.
  bool is_next(int64_t index);

 private:
  bool wait_for_turn(int64_t index);
  void deliver(int64_t index, std::vector<ReadyClip> clips);

  ThreadPool pool_;
  int64_t window_, next_ = 0;
  int64_t waiting_bytes_ = 0, num_waiting_ = 0;
  Sink sink_;
  std::vector<std::optional<std::vector<ReadyClip>>> waiting_;
  std::mutex lock_;
  std::condition_variable moved_;
  bool failed_ = false, sinking_ = false;
};

}  // namespace zoetrope
