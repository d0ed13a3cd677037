#include "parallel/comm_nccl.h"

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "model/ops/cuda/rank_sum.h"
#include "parallel/device_comm.h"
#include "parallel/transfer_watch.h"

namespace zoetrope {
namespace {

void check(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  throw Error(
      join_message("NCCL: ", call, ": ", ncclGetErrorString(result), ": ", ncclGetLastError(nullptr)));
}
#define ZT_NCCL(call) check((call), #call)

bool on_device(const void* data) {
  cudaPointerAttributes attributes{};
  const cudaError_t status = cudaPointerGetAttributes(&attributes, data);
  ZT_CHECK(status == cudaSuccess,
           "CUDA: what kind of memory a message lies in: ", cudaGetErrorString(status));
  return attributes.type == cudaMemoryTypeDevice;
}

/// Messages that hold something, in an order that both ends agree on.
template <class Message>
std::vector<Message> ordered(const std::vector<Message>& messages) {
  std::vector<Message> kept;
  std::copy_if(messages.begin(), messages.end(), std::back_inserter(kept),
               [](const Message& m) { return m.bytes > 0; });
  std::stable_sort(kept.begin(), kept.end(),
                   [](const Message& a, const Message& b) { return a.tag < b.tag; });
  return kept;
}

/// One communicator and what orders its calls.
struct Channel {
  ncclComm_t comm = nullptr;
  Stream stream = Stream::beside(Device::kCuda);
  Event last;  ///< behind its newest call
};

/// How a sum's chunk is cut: every rank sums one slice. Slices start at multiples of 64 elements, 256 bytes.
struct Slices {
  int64_t per_rank, count;
  Slices(int64_t elements, int ranks)
      : per_rank(((elements + ranks - 1) / ranks + 63) / 64 * 64), count(elements) {}
  int64_t begin(int rank) const { return std::min(per_rank * rank, count); }
  int64_t size(int rank) const { return begin(rank + 1) - begin(rank); }
};

/// What the other ranks' parts of a slice take; the first bytes also open connections.
int64_t work_bytes_of(int64_t elements, int ranks) {
  return std::max<int64_t>(1, Slices(elements, ranks).per_rank * std::max(1, ranks - 1)) *
         int64_t(sizeof(float));
}

/// Nothing to do.
class DoneTransfer : public Transfer {
 public:
  bool test() override { return true; }
  void wait() override {}
};

}  // namespace

/// Note [One order of NCCL calls]
/// NCCL promises no progress of two kernels of different communicators at once: each may hold what the
/// other's peer needs. So a rank's calls on both communicators run one after the other, in issue order: each
/// waits for the newest one of the other stream. Rings are issued in one global order, and sums after the
/// rank's last ring transfer of the step, so that order has no circle.
struct NcclComm::State {
  enum Kind { kRings, kSums };

  Comm& host;
  const NcclOptions options;
  const int rank, size;
  const Stream compute{Device::kCuda};
  Channel channels[2];
  std::shared_ptr<void> work;
  int64_t work_elements = 0, connection_bytes = 0, device_bytes = 0;
  std::mutex mutex;  ///< of the communicators and the failure: the watch ends them from its thread
  std::string failure;
  std::unique_ptr<TransferWatch> watch;

  State(Comm& the_host, const NcclOptions& the_options)
      : host(the_host), options(the_options), rank(the_host.rank()), size(the_host.size()) {}
  ~State() {
    watch.reset();
    for (Channel& channel : channels)
      if (channel.comm)  // after an error peers may never come
        (void)(std::uncaught_exceptions() > 0 ? ncclCommAbort(channel.comm) : ncclCommDestroy(channel.comm));
  }

  void start();
  void open_connections(Channel& channel);
  std::string peer_error();
  void fail(const std::string& message);
  void throw_if_failed();
  Event issue(Kind kind, const std::string& what, const std::function<void(Channel&)>& calls);
  void sum_chunk(Channel& channel, float* values, int64_t count);
  float* received() const { return static_cast<float*>(work.get()); }
};

namespace {

/// Complete when the main stream waits for it, or when the device has done it.
class NcclTransfer : public Transfer {
 public:
  NcclTransfer(std::shared_ptr<NcclComm::State> state, Event done)
      : state_(std::move(state)), done_(std::move(done)) {}
  bool test() override {
    state_->throw_if_failed();
    return waited_ || done_.complete();
  }
  void wait() override {
    state_->throw_if_failed();
    if (!waited_) done_.wait(state_->compute);
    waited_ = true;
  }

 private:
  std::shared_ptr<NcclComm::State> state_;
  Event done_;
  bool waited_ = false;
};

}  // namespace

void NcclComm::State::start() {
  ZT_REQUIRE(options.sum_bytes >= 4096, "work space of ", options.sum_bytes,
             " bytes for sums; at least 4096");
  const int64_t free_before = device_info(Device::kCuda).free_bytes;
  ncclUniqueId ids[2] = {};
  if (rank == 0)
    for (ncclUniqueId& id : ids) ZT_NCCL(ncclGetUniqueId(&id));
  host.broadcast(ids, sizeof ids, 0);
  for (int kind = 0; kind < 2; ++kind) ZT_NCCL(ncclCommInitRank(&channels[kind].comm, size, ids[kind], rank));
  const int64_t free_with_comms = device_info(Device::kCuda).free_bytes;
  work_elements = options.sum_bytes / int64_t(sizeof(float));
  work = allocate(size_t(work_bytes_of(work_elements, size)), Device::kCuda);
  const int64_t free_with_work = device_info(Device::kCuda).free_bytes;
  watch = std::make_unique<TransferWatch>(
      Device::kCuda, options.timeout_seconds,
      TransferWatch::Actions{[this] { return peer_error(); },
                             [this](const std::string& message) { fail(message); }});
  for (const Kind kind : {kRings, kSums})
    issue(kind, "the opening of connections", [this](Channel& channel) { open_connections(channel); });
  for (const Channel& channel : channels) channel.stream.synchronize();
  throw_if_failed();
  connection_bytes = free_before - free_with_comms + free_with_work - device_info(Device::kCuda).free_bytes;
  device_bytes = int64_t(host.all_reduce_max(double(connection_bytes + work_bytes_of(work_elements, size))));
}

/// One byte to and from every peer.
void NcclComm::State::open_connections(Channel& channel) {
  char* bytes = static_cast<char*>(work.get());
  ZT_NCCL(ncclGroupStart());
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    ZT_NCCL(
        ncclSend(bytes, 1, ncclInt8, peer, channel.comm, static_cast<cudaStream_t>(channel.stream.handle())));
    ZT_NCCL(ncclRecv(bytes + 1 + peer, 1, ncclInt8, peer, channel.comm,
                     static_cast<cudaStream_t>(channel.stream.handle())));
  }
  ZT_NCCL(ncclGroupEnd());
}

std::string NcclComm::State::peer_error() {
  const std::lock_guard<std::mutex> lock(mutex);
  for (const Channel& channel : channels) {
    ncclResult_t error = ncclSuccess;
    if (channel.comm == nullptr || ncclCommGetAsyncError(channel.comm, &error) != ncclSuccess) continue;
    if (error != ncclSuccess && error != ncclInProgress)
      return join_message("NCCL reports a failed peer: ", ncclGetErrorString(error));
  }
  return "";
}

/// The message goes out before the communicators end: peers see those end, and would name only that.
void NcclComm::State::fail(const std::string& message) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (failure.empty()) failure = message.empty() ? "a rank has ended the run" : message;
  }
  try {
    host.abort(message);
  } catch (const std::exception&) {}  // ranks as threads: those that wait on the device still do
  const std::lock_guard<std::mutex> lock(mutex);
  for (Channel& channel : channels) {
    if (channel.comm) (void)ncclCommAbort(channel.comm);
    channel.comm = nullptr;
  }
}

void NcclComm::State::throw_if_failed() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (!failure.empty()) throw Error("transfers between GPUs have ended: " + failure);
}

Event NcclComm::State::issue(Kind kind, const std::string& what, const std::function<void(Channel&)>& calls) {
  throw_if_failed();
  const std::lock_guard<std::mutex> lock(mutex);
  Channel& channel = channels[kind];
  Event issued, done;
  issued.record(compute);
  issued.wait(channel.stream);                   // buffers are filled, and free to be filled
  channels[1 - kind].last.wait(channel.stream);  // Note [One order of NCCL calls]
  calls(channel);
  done.record(channel.stream);
  channel.last = done;
  watch->add(done, what);
  return done;
}

/// Every rank gets its slice of all others, sums in rank order, and hands the sum to all.
void NcclComm::State::sum_chunk(Channel& channel, float* values, int64_t count) {
  const Slices slices(count, size);
  const auto stream = static_cast<cudaStream_t>(channel.stream.handle());
  const auto send = [&](int slice, int to) {
    if (slices.size(slice) > 0)
      ZT_NCCL(ncclSend(values + slices.begin(slice), size_t(slices.size(slice)), ncclFloat32, to,
                       channel.comm, stream));
  };
  const auto receive = [&](float* to, int slice, int from) {
    if (slices.size(slice) > 0)
      ZT_NCCL(ncclRecv(to, size_t(slices.size(slice)), ncclFloat32, from, channel.comm, stream));
  };
  ZT_NCCL(ncclGroupStart());
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    send(peer, peer);
    receive(received() + slices.per_rank * (peer < rank ? peer : peer - 1), rank, peer);
  }
  ZT_NCCL(ncclGroupEnd());
  cuda::sum_in_rank_order(channel.stream.handle(), values + slices.begin(rank), received(), slices.per_rank,
                          rank, size, slices.size(rank));
  ZT_NCCL(ncclGroupStart());
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    send(rank, peer);
    receive(values + slices.begin(peer), peer, peer);
  }
  ZT_NCCL(ncclGroupEnd());
}

NcclComm::NcclComm(Comm& host, const NcclOptions& options)
    : ForwardingComm(host), state_(std::make_shared<State>(host, options)) {
  state_->start();
}
NcclComm::~NcclComm() = default;

std::unique_ptr<Transfer> NcclComm::exchange(const std::vector<Send>& all_sends,
                                             const std::vector<Receive>& all_receives) {
  const std::vector<Send> sends = ordered(all_sends);
  const std::vector<Receive> receives = ordered(all_receives);
  const size_t messages = sends.size() + receives.size();
  if (messages == 0) return std::make_unique<DoneTransfer>();
  size_t device = 0;
  for (const Send& s : sends) device += on_device(s.data);
  for (const Receive& r : receives) device += on_device(r.data);
  ZT_CHECK(device == 0 || device == messages, "an exchange of ", device, " messages in device memory and ",
           messages - device, " in host memory");
  if (device == 0) return inner_.exchange(sends, receives);
  std::string what = join_message("a ring transfer of rank ", rank(), " (to");
  for (const Send& s : sends) what += join_message(" ", s.to);
  what += ", from";
  for (const Receive& r : receives) what += join_message(" ", r.from);
  const Event done = state_->issue(State::kRings, what + ")", [&](Channel& channel) {
    const auto stream = static_cast<cudaStream_t>(channel.stream.handle());
    ZT_NCCL(ncclGroupStart());
    for (const Send& s : sends)
      ZT_NCCL(ncclSend(s.data, size_t(s.bytes), ncclInt8, s.to, channel.comm, stream));
    for (const Receive& r : receives)
      ZT_NCCL(ncclRecv(r.data, size_t(r.bytes), ncclInt8, r.from, channel.comm, stream));
    ZT_NCCL(ncclGroupEnd());
  });
  return std::make_unique<NcclTransfer>(state_, done);
}

std::unique_ptr<Transfer> NcclComm::start_all_reduce_sum(const Tensor& values) {
  if (values.device() == Device::kCpu) return inner_.start_all_reduce_sum(values);
  ZT_CHECK(values.dtype() == DType::kF32, "sum over ranks of ", values.shape_text(),
           " in device memory; only f32 has one");
  ZT_CHECK(values.dense(), "sum over ranks of a strided view ", values.shape_text());
  if (size() == 1 || values.size() == 0) return std::make_unique<DoneTransfer>();
  const std::string what = join_message("a sum of rank ", rank(), " over ", values.shape_text());
  const Event done = state_->issue(State::kSums, what, [&](Channel& channel) {
    for (int64_t begin = 0; begin < values.size(); begin += state_->work_elements)
      state_->sum_chunk(channel, values.data<float>() + begin,
                        std::min(state_->work_elements, values.size() - begin));
  });
  return std::make_unique<NcclTransfer>(state_, done);
}

void NcclComm::all_reduce_sum(const Tensor& values) { start_all_reduce_sum(values)->wait(); }

double NcclComm::all_reduce_max(double value) {
  state_->throw_if_failed();
  return inner_.all_reduce_max(value);
}

std::vector<std::byte> NcclComm::all_gather(const void* data, int64_t bytes) {
  state_->throw_if_failed();
  return inner_.all_gather(data, bytes);
}

void NcclComm::broadcast(void* data, int64_t bytes, int root) {
  state_->throw_if_failed();
  inner_.broadcast(data, bytes, root);
}

void NcclComm::barrier() {
  state_->throw_if_failed();
  inner_.barrier();
}

void NcclComm::abort(const std::string& message) {
  state_->fail(message);
  throw Error(message);  // ranks as threads come here
}

int64_t NcclComm::connection_bytes() const { return state_->connection_bytes; }
int64_t NcclComm::work_bytes() const { return work_bytes_of(state_->work_elements, size()); }
int64_t NcclComm::device_bytes() const { return state_->device_bytes; }

void register_nccl() {
  register_device_comm(Device::kCuda, [](Comm& host, double timeout_seconds) -> std::unique_ptr<Comm> {
    NcclOptions options;
    options.timeout_seconds = timeout_seconds;
    return std::make_unique<NcclComm>(host, options);
  });
}

}  // namespace zoetrope
