// Inside of the NCCL stand-in: communicators, grouped calls, and how the parts of several ranks find each
// other. For tests/simt alone; the runtime's lock is held.
#pragma once

#include <nccl.h>

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/simt/runtime.h"

namespace simt::nccl {

enum class Kind { kSend, kReceive, kAllReduce, kAllGather, kBroadcast };

/// One call: a send or a receive, or this rank's part of a collective.
struct Part {
  Kind kind = Kind::kSend;
  const void* from = nullptr;
  void* to = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t reduction = ncclSum;
  int peer = 0;  ///< or root
  bool done = false;

  bool collective() const { return kind != Kind::kSend && kind != Kind::kReceive; }
  size_t bytes() const;
  std::string text() const;
};

/// The calls of one group on one communicator: one kernel, which ends when all of them are done.
class Group : public cuda::Meeting {
 public:
  Group(ncclComm* comm, std::vector<Part> parts) : comm(comm), parts(std::move(parts)) {}
  /// Groups of a communicator run in issue order; a device runs one at a time, whatever its communicator,
  /// since NCCL does not promise progress of two.
  bool can_start() const override;
  void start() override;
  bool done() const override { return finished; }
  std::vector<cuda::Need> needs() const override;
  std::string text() const;

  ncclComm* comm;
  std::vector<Part> parts;
  cuda::Position position;
  bool started = false, finished = false;
};

/// What the ranks of one id share.
struct Clique {
  int size = 0, joined = 0;
  std::vector<ncclComm*> members;  ///< null: not there yet, or gone
  std::vector<char> gone;
};

/// Joins parts of the groups that have started, until none is left that fits. Throws: simt::Error when parts
/// that meet do not fit.
void match(Clique& clique);
void finish(Group& group);
/// What ran on the devices before they were reset.
void forget_running();

}  // namespace simt::nccl

struct ncclComm {
  std::shared_ptr<simt::nccl::Clique> clique;
  int rank = 0, device = 0;
  int thread = 0;                                         ///< host thread that issues for this rank
  std::deque<std::shared_ptr<simt::nccl::Group>> groups;  ///< issued and not finished
  std::set<int> connected;
  std::vector<void*> memory;  ///< of its connections
  ncclResult_t error = ncclSuccess;
};
