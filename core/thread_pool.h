// The one pool of worker threads. Kernels split their work into tasks that don't depend on the number of
// threads, so results are bit-equal for any pool size.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace zoetrope {

class ThreadPool {
 public:
  /// `num_threads` includes the calling thread; 1 runs everything inline.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const;

  /// Runs task(i) for i in [0, num_tasks) on all threads and returns when all are done; tasks are handed
  /// out in order. Throws: the first exception a task threw. Not reentrant.
  void parallel_for(int64_t num_tasks, const std::function<void(int64_t)>& task) const;
  /// As above, and tells the task which thread in [0, num_threads) runs it (for per-thread work space).
  void parallel_for_indexed(int64_t num_tasks, const std::function<void(int64_t, int)>& task) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace zoetrope
