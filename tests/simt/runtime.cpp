#include "tests/simt/runtime.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "tests/simt/memory.h"
#include "tests/simt/nccl.h"

namespace simt::cuda {
namespace {

std::atomic<int> threads_seen{0};

/// Tells the machine when a host thread ends: whoever waits for it waits in vain.
struct ThreadMark {
  const int number = threads_seen++;
  ~ThreadMark() {
    const Lock lock(runtime().mutex);
    runtime().thread_ended(number);
  }
};

bool all_reached(const std::vector<Position>& positions) {
  return std::all_of(positions.begin(), positions.end(), [](const Position& p) { return p.reached(); });
}

}  // namespace

bool Position::reached() const { return stream == nullptr || stream->completed >= index; }

Runtime& runtime() {
  static Runtime* one = [] {  // outlives all threads
    auto* fresh = new Runtime;
    fresh->reset({});
    return fresh;
  }();
  return *one;
}

int this_thread() {
  thread_local ThreadMark mark;
  return mark.number;
}

int& current_device() {
  thread_local int device = 0;
  if (device >= runtime().options.devices) device = 0;
  return device;
}

void Runtime::reset(const DeviceOptions& the_options) {
  options = the_options;
  // Streams and events that somebody still holds stay, empty.
  std::erase_if(streams, [](const auto& stream) { return stream->is_default || stream->destroyed; });
  for (const auto& stream : streams) {
    stream->queue.clear();
    stream->completed = stream->issued;
  }
  for (const auto& [handle, event] : events) event->record.reset();
  finished.clear();
  dynamic_shared_bytes.clear();
  failure = cudaSuccess;
  failure_text.clear();
  waiting_.clear();
  random.seed(options.seed);
  sequence_ = 0;
  for (int device = 0; device < options.devices; ++device) {
    auto& stream = *streams.insert(streams.begin() + device, std::make_unique<CUstream_st>());
    stream->device = device;
    stream->is_default = true;
    stream->name = "the default stream of device " + std::to_string(device);
  }
}

CUstream_st* Runtime::stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return streams[size_t(current_device())].get();
  for (const auto& each : streams)
    if (each.get() == handle && !each->is_default && !each->destroyed) return each.get();
  return nullptr;
}

Position Runtime::issue(CUstream_st& stream, Operation operation) {
  // The default stream waits for all others of its device, and they for it, unless they opted out.
  for (const auto& other : streams)
    if (other->device == stream.device && other.get() != &stream && other->blocking &&
        (stream.is_default || (other->is_default && stream.blocking)))
      operation.waits.push_back({other.get(), other->issued});
  operation.sequence = ++sequence_;
  operation.index = ++stream.issued;
  stream.queue.push_back(std::move(operation));
  if (!waiting_.empty()) changed_.notify_all();
  return {&stream, stream.issued};
}

bool Runtime::runnable(const Operation& operation) const {
  if (!all_reached(operation.waits)) return false;
  if (!operation.meeting) return true;
  return operation.started ? operation.meeting->done() : operation.meeting->can_start();
}

void Runtime::run(CUstream_st& stream) {
  Operation& operation = stream.queue.front();
  open_memory(operation.what);
  try {
    if (operation.run) operation.run();
    if (operation.meeting && !operation.started) {
      operation.started = true;
      operation.meeting->start();
    }
  } catch (const std::exception& error) {
    fail(cudaErrorLaunchFailure, "'" + operation.what + "' on " + stream.name + ": " + error.what());
    return;
  }
  if (operation.meeting && !operation.meeting->done()) return;
  stream.completed = operation.index;
  stream.queue.pop_front();
  if (!stream.destroyed || !stream.queue.empty()) return;
  const auto place =
      std::find_if(streams.begin(), streams.end(), [&](const auto& s) { return s.get() == &stream; });
  finished.push_back(std::move(*place));
  streams.erase(place);
}

bool Runtime::step() {
  std::vector<CUstream_st*> candidates;
  for (const auto& stream : streams)
    if (!stream->queue.empty() && runnable(stream->queue.front())) candidates.push_back(stream.get());
  if (candidates.empty()) return false;
  const auto earlier = [](const CUstream_st* a, const CUstream_st* b) {
    return a->queue.front().sequence < b->queue.front().sequence;
  };
  CUstream_st* chosen = options.seed == 0 ? *std::min_element(candidates.begin(), candidates.end(), earlier)
                                          : candidates[random() % candidates.size()];
  run(*chosen);
  ++executed_;
  return failure == cudaSuccess;
}

void Runtime::poll() {
  step();
  close();
}

void Runtime::close() {
  const std::string overrun = close_memory();
  if (!overrun.empty()) fail(cudaErrorIllegalAddress, overrun);
  if (!waiting_.empty()) changed_.notify_all();
}

cudaError_t Runtime::wait_for(Lock& lock, const std::vector<Position>& targets, const std::string& what) {
  const int thread = this_thread();
  const auto patience = std::chrono::duration<double>(options.patience_seconds);
  while (failure == cudaSuccess && !all_reached(targets)) {
    while (failure == cudaSuccess && !all_reached(targets) && step()) {}
    close();
    if (failure != cudaSuccess || all_reached(targets)) break;
    waiting_[thread] = {targets, what, current_device()};
    const std::string circle = find_circle(*this, thread);
    if (!circle.empty()) fail(cudaErrorLaunchTimeout, circle);
    else if (const uint64_t before = executed_;
             changed_.wait_for(lock, patience) == std::cv_status::timeout && executed_ == before)
      fail(cudaErrorLaunchTimeout,
           what + ": nothing came for " + std::to_string(options.patience_seconds) + " s");
    waiting_.erase(thread);
  }
  return failure == cudaSuccess ? cudaSuccess : refuse(failure, failure_text);
}

cudaError_t Runtime::drain(Lock& lock, int device) {
  std::vector<Position> targets;
  for (const auto& stream : streams)
    if (device < 0 || stream->device == device) targets.push_back({stream.get(), stream->issued});
  return wait_for(lock, targets, device < 0 ? "all devices" : "device " + std::to_string(device));
}

void Runtime::fail(cudaError_t code, const std::string& text) {
  if (failure != cudaSuccess) return;
  failure = code;
  failure_text = text;
  changed_.notify_all();
}

void Runtime::thread_ended(int thread) {
  ended_.push_back(thread);
  changed_.notify_all();
}

}  // namespace simt::cuda

namespace simt {

std::string reset_devices(const DeviceOptions& options) {
  cuda::Runtime& m = cuda::runtime();
  const cuda::Lock lock(m.mutex);
  std::ostringstream left;
  for (const auto& stream : m.streams) {
    for (const cuda::Operation& operation : stream->queue)
      left << "'" << operation.what << "' on " << stream->name << " never ran: nobody waited for it\n";
  }
  left << cuda::reset_memory(options);
  nccl::forget_running();
  m.reset(options);
  return left.str();
}

int64_t pending_operations() {
  const cuda::Lock lock(cuda::runtime().mutex);
  int64_t pending = 0;
  for (const auto& stream : cuda::runtime().streams) pending += int64_t(stream->queue.size());
  return pending;
}

}  // namespace simt
