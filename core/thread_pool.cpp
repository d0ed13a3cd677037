#include "core/thread_pool.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/check.h"

namespace zoetrope {

struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake, finished;
  const std::function<void(int64_t, int)>* task = nullptr;
  int64_t num_tasks = 0;
  std::atomic<int64_t> next{0};
  uint64_t generation = 0;  // counts parallel_for calls, so that a worker runs each one once
  int running = 0;
  bool stopping = false;
  std::exception_ptr error;

  void drain(int thread) {
    try {
      for (int64_t i = next.fetch_add(1); i < num_tasks; i = next.fetch_add(1)) (*task)(i, thread);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next.store(num_tasks);
    }
  }

  void work(int thread) {
    uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return stopping || generation != seen; });
      if (stopping) return;
      seen = generation;
      lock.unlock();
      drain(thread);
      lock.lock();
      if (--running == 0) finished.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int num_threads) : state_(std::make_unique<State>()) {
  ZT_CHECK(num_threads >= 1, "thread pool of ", num_threads, " threads");
  for (int thread = 1; thread < num_threads; ++thread)
    state_->workers.emplace_back([this, thread] { state_->work(thread); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->wake.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::num_threads() const { return int(state_->workers.size()) + 1; }

void ThreadPool::parallel_for(int64_t num_tasks, const std::function<void(int64_t)>& task) const {
  parallel_for_indexed(num_tasks, [&task](int64_t i, int) { task(i); });
}

void ThreadPool::parallel_for_indexed(int64_t num_tasks,
                                      const std::function<void(int64_t, int)>& task) const {
  if (num_tasks <= 0) return;
  if (num_tasks == 1 || state_->workers.empty()) {
    for (int64_t i = 0; i < num_tasks; ++i) task(i, 0);
    return;
  }
  State& s = *state_;
  {
    const std::lock_guard lock(s.mutex);
    s.task = &task;
    s.num_tasks = num_tasks;
    s.next.store(0);
    s.running = int(s.workers.size());
    s.error = nullptr;
    ++s.generation;
  }
  s.wake.notify_all();
  s.drain(0);
  std::unique_lock lock(s.mutex);
  s.finished.wait(lock, [&s] { return s.running == 0; });
  if (s.error) std::rethrow_exception(s.error);
}

}  // namespace zoetrope
