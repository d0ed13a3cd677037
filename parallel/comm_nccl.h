// Ranks with a GPU each: ring transfers and sums of device memory over NCCL, ordered by streams and events
// without a wait on the host. Everything else, and all host memory, goes through the Comm of the processes.
#pragma once

#include <cstdint>
#include <memory>

#include "parallel/comm_forwarding.h"

namespace zoetrope {

struct NcclOptions {
  double timeout_seconds = 600;           ///< a transfer that takes longer ends the run
  int64_t sum_bytes = int64_t(32) << 20;  ///< elements that a sum has in flight: its work space
};

/// Two communicators, one for ring transfers and one for sums, each with a stream of its own; a rank's calls
/// on both run in the order in which it issued them, so one global order of issues is enough (Note [One order
/// of NCCL calls]). A transfer starts after what the main stream was given before it; `wait` makes the main
/// stream wait, not the host. Messages between two ranks meet in issue order, by tag within one exchange;
/// both ends are device memory or both are host memory. Sums are taken in rank order, as every Comm's. After
/// a failed transfer every call throws, also those that need the host alone: no rank goes on with half a
/// result.
class NcclComm : public ForwardingComm {
 public:
  /// Every rank calls it with its device selected; opens the connections to all peers. `host` carries the ids
  /// and outlives this. Throws: Error with NCCL's message.
  NcclComm(Comm& host, const NcclOptions& options);
  ~NcclComm() override;
  const char* name() const override { return "nccl"; }

  std::unique_ptr<Transfer> exchange(const std::vector<Send>& sends,
                                     const std::vector<Receive>& receives) override;
  void all_reduce_sum(const Tensor& values) override;
  std::unique_ptr<Transfer> start_all_reduce_sum(const Tensor& values) override;
  /// Any number: they run one after the other, behind events, in one work space.
  size_t most_sums_in_flight() const override { return SIZE_MAX; }
  double all_reduce_max(double value) override;
  std::vector<std::byte> all_gather(const void* data, int64_t bytes) override;
  void broadcast(void* data, int64_t bytes, int root) override;
  void barrier() override;
  [[noreturn]] void abort(const std::string& message) override;

  /// Device memory that NCCL took for its communicators and connections, as the driver counts it.
  int64_t connection_bytes() const;
  /// Device memory of the sums' work space.
  int64_t work_bytes() const;
  /// Both, of the rank that has most: caps that follow from it are the same on all.
  int64_t device_bytes() const override;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace zoetrope
