#include "core/thread_pool.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/check.h"

namespace zoetrope {

namespace {

// Note [Spin before sleep]: waking a sleeping thread takes about 50 us in a virtual machine, and a training
// step calls the pool some thousand times. So a thread that waits looks again and again for about as long
// before it sleeps.
constexpr std::chrono::microseconds kSpin{100};

/// Whether `condition` came true within `kSpin`.
template <class Condition>
bool spin_until(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  constexpr int kLooks = 16;  // between two looks at the clock
  do {
    for (int look = 0; look < kLooks; ++look) {
      if (condition()) return true;
#ifdef __SSE2__
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake, finished;
  const std::function<void(int64_t, int)>* task = nullptr;
  int64_t num_tasks = 0;
  std::atomic<int64_t> next{0};
  std::atomic<uint64_t> generation{0};  // counts parallel_for calls, so that a worker runs each one once
  std::atomic<int> running{0};
  bool stopping = false;
  bool spins = false;  // only where every thread has a core
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
    for (;;) {
      if (spins) spin_until([&] { return generation != seen; });
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return stopping || generation != seen; });
        if (stopping) return;
        seen = generation;
      }
      drain(thread);
      if (--running > 0) continue;
      const std::lock_guard lock(mutex);  // the caller either waits or has yet to look
      finished.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int num_threads) : state_(std::make_unique<State>()) {
  ZT_CHECK(num_threads >= 1, "thread pool of ", num_threads, " threads");
  state_->spins = num_threads <= int(std::thread::hardware_concurrency());
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
  const auto all_done = [&s] { return s.running == 0; };
  if (!s.spins || !spin_until(all_done)) {
    std::unique_lock lock(s.mutex);
    s.finished.wait(lock, all_done);
  }
  if (s.error) std::rethrow_exception(s.error);
}

}  // namespace zoetrope
