// Inside of the emulated devices: one lock, streams as queues, the scheduler, errors. For tests/simt alone.
#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/simt/devices.h"
namespace simt::cuda {

/// A point in a stream: reached when the stream has completed `index` operations.
struct Position {
  const CUstream_st* stream = nullptr;
  uint64_t index = 0;
  bool reached() const;
};

/// What an operation waits for, for reports of circular waits: a point in a stream, or a host thread that has
/// not issued its part yet, or one that has left (kNever).
inline constexpr int kNever = -2;
struct Need {
  Position position;
  int thread = -1;
  std::string text;
};

/// An operation that ends when others have come to it: NCCL's.
class Meeting {
 public:
  virtual ~Meeting() = default;
  virtual bool can_start() const = 0;
  virtual void start() = 0;  ///< once, at the head of the stream
  virtual bool done() const = 0;
  virtual std::vector<Need> needs() const = 0;
};

struct Operation {
  std::string what;
  std::vector<Position> waits;       ///< points in other streams
  std::function<void()> run;         ///< may be empty
  std::shared_ptr<Meeting> meeting;  ///< instead of `run`
  uint64_t sequence = 0, index = 0;  ///< set at issue
  bool started = false;
};

/// When an event was recorded, and when the device came by.
struct EventRecord {
  Position position;
  double milliseconds = -1;
};

}  // namespace simt::cuda
struct CUstream_st {
  int device = 0;
  bool is_default = false, blocking = true, destroyed = false;
  std::string name;
  uint64_t issued = 0, completed = 0;
  std::deque<simt::cuda::Operation> queue;
};
struct CUevent_st {
  int device = 0;
  bool timing = true;
  std::shared_ptr<simt::cuda::EventRecord> record;
};

namespace simt::cuda {

using Lock = std::unique_lock<std::mutex>;
class Runtime {
 public:
  std::mutex mutex;
  DeviceOptions options;
  std::vector<std::unique_ptr<CUstream_st>> streams;   ///< the default streams first, by device
  std::vector<std::unique_ptr<CUstream_st>> finished;  ///< destroyed and drained; positions point at them
  std::map<cudaEvent_t, std::unique_ptr<CUevent_st>> events;
  std::map<const void*, int> dynamic_shared_bytes;  ///< set by cudaFuncSetAttribute
  cudaError_t failure = cudaSuccess;                ///< sticky
  std::string failure_text;
  std::mt19937_64 random;

  void reset(const DeviceOptions& the_options);
  /// The stream of a handle; null when there is none.
  CUstream_st* stream(cudaStream_t handle);
  /// Queues an operation.
  Position issue(CUstream_st& stream, Operation operation);
  /// Runs operations until all positions are reached or the devices have failed.
  cudaError_t wait_for(Lock& lock, const std::vector<Position>& targets, const std::string& what);
  /// Runs one operation, if one may run.
  void poll();
  /// Waits for all that was issued to one device, or to all (-1).
  cudaError_t drain(Lock& lock, int device);
  /// From now on every call returns `code`.
  void fail(cudaError_t code, const std::string& text);
  void thread_ended(int thread);
  void wake_waiting() { changed_.notify_all(); }

 private:
  friend class CircleSearch;
  struct Waiting {
    std::vector<Position> targets;
    std::string what;
    int device;
  };
  bool step();
  bool runnable(const Operation& operation) const;
  void run(CUstream_st& stream);
  /// Between operations: the host runs, device memory is closed.
  void close();

  std::condition_variable changed_;
  std::map<int, Waiting> waiting_;  // by thread
  std::vector<int> ended_;
  uint64_t sequence_ = 0, executed_ = 0;
};

Runtime& runtime();
/// Number of the calling host thread, and the device that it has set.
int this_thread();
int& current_device();
/// Why a waiting thread can never go on; empty when somebody may still come.
std::string find_circle(const Runtime& runtime, int thread);

/// Keeps `text` as the calling thread's last error and returns `code`.
cudaError_t keep_error(cudaError_t code, const std::string& text);
template <class... Parts>
cudaError_t refuse(cudaError_t code, Parts&&... parts) {
  std::ostringstream out;
  (out << ... << std::forward<Parts>(parts));
  return keep_error(code, out.str());
}

/// Body of every call: with the lock, unless there is a sticky error.
template <class Body>
cudaError_t call(Body&& body) {
  Runtime& m = runtime();
  Lock lock(m.mutex);
  if (m.failure != cudaSuccess) return refuse(m.failure, m.failure_text);
  return body(m, lock);
}

}  // namespace simt::cuda
