// Calls of the NCCL stand-in.
#include "tests/simt/nccl.h"

#include <algorithm>
#include <cstring>

#include "tests/simt/memory.h"

using simt::cuda::Lock;
using simt::cuda::Runtime;
using simt::cuda::runtime;
using namespace simt::nccl;

namespace {

std::string& last_text() {
  thread_local std::string text;
  return text;
}
ncclResult_t refuse(ncclResult_t result, const std::string& text) {
  last_text() = text;
  return result;
}

/// Calls between ncclGroupStart and ncclGroupEnd of this thread.
struct Call {
  ncclComm* comm;
  cudaStream_t stream;
  Part part;
};
struct GroupCalls {
  int depth = 0;
  std::vector<Call> calls;
  ncclResult_t error = ncclSuccess;
};
GroupCalls& group_calls() {
  thread_local GroupCalls one;
  return one;
}

std::map<std::string, std::shared_ptr<Clique>>& cliques() {
  static auto* one = new std::map<std::string, std::shared_ptr<Clique>>;
  return *one;
}
std::condition_variable& joined() {
  static auto* one = new std::condition_variable;
  return *one;
}

std::string buffer_error(const ncclComm& comm, const void* address, size_t bytes, const char* name) {
  if (bytes == 0) return "";
  const std::string wrong = simt::cuda::device_range_error(address, bytes);
  if (!wrong.empty()) return std::string(name) + ": " + wrong;
  const int device = simt::cuda::device_allocation(address)->device;
  return device == comm.device ? ""
                               : std::string(name) + " lies on device " + std::to_string(device) +
                                     ", the communicator is of device " + std::to_string(comm.device);
}

std::string part_error(const ncclComm& comm, const Part& part) {
  const size_t ranks = size_t(comm.clique->size);
  if (part.peer < 0 || part.peer >= comm.clique->size)
    return "rank " + std::to_string(part.peer) + " does not exist";
  const bool sends =
      part.kind != Kind::kReceive && !(part.kind == Kind::kBroadcast && part.peer != comm.rank);
  const size_t received = part.bytes() * (part.kind == Kind::kAllGather ? ranks : 1);
  std::string wrong = sends ? buffer_error(comm, part.from, part.bytes(), "send buffer") : "";
  if (wrong.empty() && part.kind != Kind::kSend)
    wrong = buffer_error(comm, part.to, received, "receive buffer");
  if (!wrong.empty()) return wrong;
  const char* from = static_cast<const char*>(part.from);
  const char* to = static_cast<const char*>(part.to);
  const char* in_place = part.kind == Kind::kAllGather ? to + size_t(comm.rank) * part.bytes() : to;
  if (part.collective() && sends && from != in_place && from < to + received && to < from + part.bytes())
    return "send and receive buffers overlap";
  if (part.kind == Kind::kAllReduce && part.type != ncclFloat32 && part.type != ncclFloat64)
    return "this stand-in reduces f32 and f64 alone";
  if (part.kind == Kind::kAllReduce && part.reduction != ncclSum && part.reduction != ncclMax)
    return "this stand-in reduces by sum and maximum alone";
  return "";
}

/// A connection takes memory when it is first used.
bool connect(ncclComm& comm, const std::vector<Part>& parts) {
  std::set<int> peers;
  for (const Part& part : parts)
    if (!part.collective()) peers.insert(part.peer);
    else
      for (int rank = 0; rank < comm.clique->size; ++rank) peers.insert(rank);
  peers.erase(comm.rank);
  for (const int peer : peers) {
    if (!comm.connected.insert(peer).second) continue;
    void* memory =
        simt::cuda::take_device_memory(size_t(runtime().options.nccl_connection_bytes), comm.device);
    if (memory == nullptr) return false;
    comm.memory.push_back(memory);
  }
  return true;
}

ncclResult_t issue_group(ncclComm* comm, cudaStream_t stream, std::vector<Part> parts) {
  Runtime& m = runtime();
  const Lock lock(m.mutex);
  if (m.failure != cudaSuccess) return refuse(ncclUnhandledCudaError, m.failure_text);
  CUstream_st* s = m.stream(stream);
  if (s == nullptr || s->device != comm->device)
    return refuse(ncclInvalidArgument, "no stream of the communicator's device");
  for (const Part& part : parts) {
    const std::string wrong = part_error(*comm, part);
    if (!wrong.empty()) return refuse(ncclInvalidArgument, part.text() + ": " + wrong);
  }
  if (!connect(*comm, parts)) return refuse(ncclUnhandledCudaError, "no memory for a connection");
  comm->thread = simt::cuda::this_thread();
  const auto group = std::make_shared<Group>(comm, std::move(parts));
  comm->groups.push_back(group);
  simt::cuda::Operation operation;
  operation.what = group->text();
  operation.meeting = group;
  group->position = m.issue(*s, std::move(operation));
  return ncclSuccess;
}

ncclResult_t add_call(ncclComm_t comm, cudaStream_t stream, const Part& part) {
  if (comm == nullptr) return refuse(ncclInvalidArgument, "no communicator");
  GroupCalls& group = group_calls();
  if (group.depth == 0) return issue_group(comm, stream, {part});
  group.calls.push_back({comm, stream, part});
  return ncclSuccess;
}

void leave(ncclComm* comm) {
  while (!comm->groups.empty()) finish(*comm->groups.front());
  for (void* memory : comm->memory) simt::cuda::give_device_memory(memory);
  comm->clique->members[size_t(comm->rank)] = nullptr;
  comm->clique->gone[size_t(comm->rank)] = 1;
  runtime().wake_waiting();
  delete comm;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  static int64_t made = 0;
  const Lock lock(runtime().mutex);
  std::memset(uniqueId->internal, 0, sizeof uniqueId->internal);
  const std::string text = "emulated " + std::to_string(++made);
  std::memcpy(uniqueId->internal, text.data(), text.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  if (nranks < 1 || rank < 0 || rank >= nranks)
    return refuse(ncclInvalidArgument, "rank " + std::to_string(rank) + " of " + std::to_string(nranks));
  if (group_calls().depth > 0)
    return refuse(ncclInvalidUsage, "this stand-in makes no communicator inside a group");
  Runtime& m = runtime();
  Lock lock(m.mutex);
  std::shared_ptr<Clique>& place = cliques()[commId.internal];
  if (!place) place = std::make_shared<Clique>();
  const std::shared_ptr<Clique> clique = place;
  if (clique->size == 0) {
    clique->size = nranks;
    clique->members.resize(size_t(nranks));
    clique->gone.resize(size_t(nranks));
  }
  if (clique->size != nranks || clique->members[size_t(rank)] != nullptr)
    return refuse(ncclInvalidUsage, "rank " + std::to_string(rank) + " of " + std::to_string(nranks) +
                                        " joins a communicator of " + std::to_string(clique->size) +
                                        " ranks");
  for (const ncclComm* other : clique->members)
    if (other != nullptr && other->device == simt::cuda::current_device())
      return refuse(ncclInvalidUsage, "two ranks on device " + std::to_string(other->device));
  auto fresh = std::make_unique<ncclComm>();
  fresh->clique = clique;
  fresh->rank = rank;
  fresh->device = simt::cuda::current_device();
  fresh->thread = simt::cuda::this_thread();
  clique->members[size_t(rank)] = fresh.get();
  ++clique->joined;
  joined().notify_all();
  const auto patience = std::chrono::duration<double>(m.options.patience_seconds);
  if (!joined().wait_for(lock, patience, [&] { return clique->joined == clique->size; })) {
    clique->members[size_t(rank)] = nullptr;
    return refuse(ncclSystemError,
                  std::to_string(clique->joined) + " of " + std::to_string(nranks) + " ranks joined");
  }
  *comm = fresh.release();
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  Runtime& m = runtime();
  Lock lock(m.mutex);
  std::vector<simt::cuda::Position> last;
  for (const auto& group : comm->groups) last.push_back(group->position);
  const cudaError_t status = m.wait_for(lock, last, "the end of a communicator");
  leave(comm);
  return status == cudaSuccess ? ncclSuccess : refuse(ncclUnhandledCudaError, m.failure_text);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const Lock lock(runtime().mutex);
  for (ncclComm* other : comm->clique->members)
    if (other != nullptr && other != comm) other->error = ncclRemoteError;
  leave(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  const Lock lock(runtime().mutex);
  *asyncError = runtime().failure != cudaSuccess ? ncclUnhandledCudaError : comm->error;
  return ncclSuccess;
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  *count = comm->clique->size;
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  static constexpr const char* texts[] = {"no error",
                                          "unhandled cuda error",
                                          "unhandled system error",
                                          "internal error",
                                          "invalid argument",
                                          "invalid usage",
                                          "remote process exited or there was a network error",
                                          "NCCL operation in progress"};
  return result >= ncclSuccess && result < ncclNumResults ? texts[result] : "unknown result code";
}
const char* ncclGetLastError(ncclComm_t) { return last_text().c_str(); }

ncclResult_t ncclGroupStart() {
  ++group_calls().depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  GroupCalls& group = group_calls();
  if (group.depth == 0) return refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--group.depth > 0) return ncclSuccess;
  const std::vector<Call> calls = std::move(group.calls);
  group.calls.clear();
  std::vector<ncclComm*> comms;
  for (const Call& call : calls)
    if (std::find(comms.begin(), comms.end(), call.comm) == comms.end()) comms.push_back(call.comm);
  for (ncclComm* comm : comms) {
    std::vector<Part> parts;
    cudaStream_t stream = nullptr;
    for (const Call& call : calls) {
      if (call.comm != comm) continue;
      if (!parts.empty() && call.stream != stream)
        return refuse(ncclInvalidUsage,
                      "this stand-in wants one stream for a group's calls on a communicator");
      stream = call.stream;
      parts.push_back(call.part);
    }
    const ncclResult_t result = issue_group(comm, stream, std::move(parts));
    if (result != ncclSuccess) return result;
  }
  return ncclSuccess;
}

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add_call(comm, stream,
                  {.kind = Kind::kSend, .from = sendbuff, .count = count, .type = datatype, .peer = peer});
}
ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add_call(comm, stream,
                  {.kind = Kind::kReceive, .to = recvbuff, .count = count, .type = datatype, .peer = peer});
}
ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return add_call(comm, stream,
                  {.kind = Kind::kAllReduce,
                   .from = sendbuff,
                   .to = recvbuff,
                   .count = count,
                   .type = datatype,
                   .reduction = op});
}
ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream) {
  return add_call(
      comm, stream,
      {.kind = Kind::kAllGather, .from = sendbuff, .to = recvbuff, .count = sendcount, .type = datatype});
}
ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return add_call(comm, stream,
                  {.kind = Kind::kBroadcast,
                   .from = sendbuff,
                   .to = recvbuff,
                   .count = count,
                   .type = datatype,
                   .peer = root});
}
