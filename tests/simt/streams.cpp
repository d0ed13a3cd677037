// Streams, events and launches of the emulated devices.
#include <algorithm>
#include <chrono>

#include "tests/simt/include/simt_launch.h"
#include "tests/simt/runtime.h"

namespace simt::cuda {
namespace {

double now_milliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

std::string shape_error(const LaunchShape& s) {
  const auto product = [](const dim3& d) { return int64_t(d.x) * d.y * d.z; };
  std::ostringstream out;
  if (product(s.block) < 1 || product(s.block) > 1024 || s.block.z > 64)
    out << "blocks of " << s.block.x << " x " << s.block.y << " x " << s.block.z << " threads; 1 to 1024";
  else if (product(s.grid) < 1 || s.grid.x > 2147483647u || s.grid.y > 65535 || s.grid.z > 65535)
    out << "a grid of " << s.grid.x << " x " << s.grid.y << " x " << s.grid.z << " blocks";
  else if (s.dynamic_shared_bytes > s.max_dynamic_shared_bytes)
    out << s.dynamic_shared_bytes << " bytes of dynamic shared memory, " << s.max_dynamic_shared_bytes
        << " allowed; cudaFuncSetAttribute raises that to " << kMostSharedBytes;
  return out.str();
}

cudaError_t no_stream(cudaStream_t stream) {
  return refuse(cudaErrorInvalidResourceHandle, "stream ", static_cast<const void*>(stream),
                " does not exist (any more)");
}
cudaError_t no_event(cudaEvent_t event) {
  return refuse(cudaErrorInvalidResourceHandle, "event ", static_cast<const void*>(event),
                " does not exist (any more)");
}
CUevent_st* find_event(Runtime& m, cudaEvent_t event) {
  const auto found = m.events.find(event);
  return found == m.events.end() ? nullptr : found->second.get();
}

/// Reached, or not yet: and then one operation runs, so that polling ends.
cudaError_t query(Runtime& m, const Position& position) {
  if (!position.reached()) m.poll();
  if (m.failure != cudaSuccess) return refuse(m.failure, m.failure_text);
  return position.reached() ? cudaSuccess : cudaErrorNotReady;
}

}  // namespace

}  // namespace simt::cuda

using namespace simt::cuda;

namespace simt {

cudaError_t launch(const void* kernel, LaunchShape shape, cudaStream_t stream,
                   std::function<void()> thread_body) {
  return call([&](Runtime& m, Lock&) {
    CUstream_st* s = m.stream(stream);
    if (s == nullptr) return no_stream(stream);
    if (s->device != current_device())
      return refuse(cudaErrorInvalidResourceHandle, "kernel '", shape.name, "' launched into ", s->name,
                    " of device ", s->device, " while device ", current_device(), " is set");
    const auto raised = m.dynamic_shared_bytes.find(kernel);
    if (raised != m.dynamic_shared_bytes.end()) shape.max_dynamic_shared_bytes = size_t(raised->second);
    const std::string wrong = shape_error(shape);
    if (!wrong.empty()) return refuse(cudaErrorInvalidConfiguration, "kernel '", shape.name, "': ", wrong);
    const uint64_t seed = m.options.seed == 0 ? order_seed() : m.random() | 1;
    Operation operation;
    operation.what = shape.name;
    operation.run = [shape, body = std::move(thread_body), seed] { run(shape, body, seed); };
    m.issue(*s, std::move(operation));
    return cudaSuccess;
  });
}

}  // namespace simt

cudaError_t cudaFuncSetAttribute(const void* func, cudaFuncAttribute attr, int value) {
  return call([&](Runtime& m, Lock&) {
    if (attr != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || size_t(value) > simt::kMostSharedBytes)
      return refuse(cudaErrorInvalidValue, value, " bytes of dynamic shared memory, at most ",
                    simt::kMostSharedBytes);
    m.dynamic_shared_bytes[func] = value;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
  return call([&](Runtime& m, Lock&) {
    auto& stream = m.streams.emplace_back(std::make_unique<CUstream_st>());
    static int created = 0;
    stream->device = current_device();
    stream->blocking = (flags & cudaStreamNonBlocking) == 0;
    stream->name = "stream " + std::to_string(++created) + " of device " + std::to_string(stream->device);
    *pStream = stream.get();
    return cudaSuccess;
  });
}
cudaError_t cudaStreamCreate(cudaStream_t* pStream) { return cudaStreamCreateWithFlags(pStream, 0); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags, int) {
  return cudaStreamCreateWithFlags(pStream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call([&](Runtime& m, Lock&) {
    CUstream_st* s = m.stream(stream);
    if (s == nullptr || s->is_default) return no_stream(stream);
    s->destroyed = true;  // what it holds still runs
    if (!s->queue.empty()) return cudaSuccess;
    const auto place =
        std::find_if(m.streams.begin(), m.streams.end(), [s](const auto& x) { return x.get() == s; });
    m.finished.push_back(std::move(*place));
    m.streams.erase(place);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call([&](Runtime& m, Lock& lock) {
    CUstream_st* s = m.stream(stream);
    if (s == nullptr) return no_stream(stream);
    return m.wait_for(lock, {{s, s->issued}}, s->name);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call([&](Runtime& m, Lock&) {
    CUstream_st* s = m.stream(stream);
    return s == nullptr ? no_stream(stream) : query(m, {s, s->issued});
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call([&](Runtime& m, Lock& lock) { return m.drain(lock, current_device()); });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  return call([&](Runtime& m, Lock&) {
    CUstream_st* s = m.stream(stream);
    if (s == nullptr) return no_stream(stream);
    Operation operation;
    operation.what = "host function";
    operation.run = [fn, userData] { fn(userData); };
    m.issue(*s, std::move(operation));
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return call([&](Runtime& m, Lock&) {
    auto fresh = std::make_unique<CUevent_st>();
    fresh->device = current_device();
    fresh->timing = (flags & cudaEventDisableTiming) == 0;
    *event = fresh.get();
    m.events[fresh.get()] = std::move(fresh);
    return cudaSuccess;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call([&](Runtime& m, Lock&) { return m.events.erase(event) == 1 ? cudaSuccess : no_event(event); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call([&](Runtime& m, Lock&) {
    CUstream_st* s = m.stream(stream);
    CUevent_st* e = find_event(m, event);
    if (s == nullptr) return no_stream(stream);
    if (e == nullptr) return no_event(event);
    if (e->device != s->device)
      return refuse(cudaErrorInvalidResourceHandle, "an event of device ", e->device, " recorded in ",
                    s->name, " of device ", s->device);
    e->record = std::make_shared<EventRecord>();
    Operation operation;
    operation.what = "event record";
    operation.run = [record = e->record] { record->milliseconds = now_milliseconds(); };
    e->record->position = m.issue(*s, std::move(operation));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  return call([&](Runtime& m, Lock&) {
    CUstream_st* s = m.stream(stream);
    CUevent_st* e = find_event(m, event);
    if (s == nullptr) return no_stream(stream);
    if (e == nullptr) return no_event(event);
    if (!e->record) return cudaSuccess;  // never recorded: complete
    Operation operation;
    operation.what = "wait for an event in " + e->record->position.stream->name;
    operation.waits = {e->record->position};
    m.issue(*s, std::move(operation));
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call([&](Runtime& m, Lock&) {
    CUevent_st* e = find_event(m, event);
    if (e == nullptr) return no_event(event);
    return e->record ? query(m, e->record->position) : cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call([&](Runtime& m, Lock& lock) {
    CUevent_st* e = find_event(m, event);
    if (e == nullptr) return no_event(event);
    if (!e->record) return cudaSuccess;
    return m.wait_for(lock, {e->record->position}, "an event in " + e->record->position.stream->name);
  });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return call([&](Runtime& m, Lock&) {
    CUevent_st *first = find_event(m, start), *second = find_event(m, end);
    if (first == nullptr || second == nullptr) return no_event(first == nullptr ? start : end);
    if (!first->timing || !second->timing || !first->record || !second->record)
      return refuse(cudaErrorInvalidResourceHandle,
                    "elapsed time of events without timing, or never recorded");
    if (!first->record->position.reached() || !second->record->position.reached()) return cudaErrorNotReady;
    *ms = float(second->record->milliseconds - first->record->milliseconds);
    return cudaSuccess;
  });
}
