// A Comm whose calls block until they are complete: what NCCL may do. Code that runs on it has no circle of
// waits, whatever the transport buffers.
#pragma once

#include <memory>

#include "parallel/comm_forwarding.h"

namespace zoetrope::test {

/// Wraps a rank of `run_local_ranks`, which reports a circle as an error.
class RendezvousComm : public ForwardingComm {
 public:
  using ForwardingComm::ForwardingComm;
  const char* name() const override { return "rendezvous"; }
  /// Completes before it returns.
  std::unique_ptr<Transfer> exchange(const std::vector<Send>& sends,
                                     const std::vector<Receive>& receives) override {
    return completed(inner_.exchange(sends, receives));
  }
  std::unique_ptr<Transfer> start_all_reduce_sum(const Tensor& values) override {
    return completed(inner_.start_all_reduce_sum(values));
  }

 private:
  static std::unique_ptr<Transfer> completed(std::unique_ptr<Transfer> transfer) {
    transfer->wait();
    return transfer;
  }
};

}  // namespace zoetrope::test
