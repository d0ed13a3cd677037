// A Comm that hands every call to another one: what wraps a transport overrides the calls that it changes.
#pragma once

#include "core/check.h"
#include "parallel/comm.h"

namespace zoetrope {

class ForwardingComm : public Comm {
 public:
  explicit ForwardingComm(Comm& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  const char* name() const override { return inner_.name(); }
  std::unique_ptr<Transfer> exchange(const std::vector<Send>& sends,
                                     const std::vector<Receive>& receives) override {
    return inner_.exchange(sends, receives);
  }
  void progress() override { inner_.progress(); }
  void all_reduce_sum(const Tensor& values) override { inner_.all_reduce_sum(values); }
  std::unique_ptr<Transfer> start_all_reduce_sum(const Tensor& values) override {
    return inner_.start_all_reduce_sum(values);
  }
  size_t most_sums_in_flight() const override { return inner_.most_sums_in_flight(); }
  double all_reduce_max(double value) override { return inner_.all_reduce_max(value); }
  std::vector<std::byte> all_gather(const void* data, int64_t bytes) override {
    return inner_.all_gather(data, bytes);
  }
  void broadcast(void* data, int64_t bytes, int root) override { inner_.broadcast(data, bytes, root); }
  void barrier() override { inner_.barrier(); }
  int64_t device_bytes() const override { return inner_.device_bytes(); }
  [[noreturn]] void abort(const std::string& message) override {
    inner_.abort(message);
    throw Error(message);  // not reached: compilers do not see that a virtual call never returns
  }

 protected:
  Comm& inner_;
};

}  // namespace zoetrope
