// Operators of a backend as tests call them: every tensor goes to the backend's memory, between guard bytes,
// and every call runs once for each order of execution, with bit-equal results.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/ops/ops.h"

namespace zoetrope::test {

/// The tensors of one call in the memory of the backend, each where its rows have the alignment and the
/// stride that they have on the host. What lies around and between the rows is NaN in every type.
class Placed {
 public:
  explicit Placed(const Ops& ops) : ops_(ops) {}
  const Ops& ops() const { return ops_; }

  /// A tensor that the call reads. Undefined stays undefined; the same host tensor gives the same place.
  Tensor in(const Tensor& host) { return place(host, false); }
  /// One that it writes, and may read before.
  Tensor out(const Tensor& host) { return place(host, true); }
  /// A number that the call returned.
  double number(double value);

  /// Bits of the outputs and numbers, in order of first use. Fails the test when an input or a guard has
  /// changed.
  std::vector<std::vector<char>> results() const;
  /// Copies results() into the outputs on the host.
  void write_back(const std::vector<std::vector<char>>& results) const;

 private:
  struct Entry {
    Tensor host, storage, view;
    std::vector<char> before;  ///< all of `storage`
    bool is_out;
  };
  Tensor place(const Tensor& host, bool is_out);
  void check_surroundings(const Entry& entry, const std::vector<char>& after) const;

  const Ops& ops_;
  std::vector<Entry> entries_;
  std::vector<double> numbers_;
};

/// A backend with its orders of execution.
class OpsUnderTest {
 public:
  virtual ~OpsUnderTest() = default;
  /// Runs `call` in every order. The outputs on the host then hold the results, the same in all orders.
  void run(const std::function<void(Placed&)>& call) const;
  /// Whether the next case of a large table is one of those that this backend runs.
  bool takes_next() const { return next_case_++ % every_ == 0; }

 protected:
  /// Every n-th case of large tables is run. With n prime to the numbers of values that are combined, each
  /// value still meets each other one.
  explicit OpsUnderTest(int64_t every = 1) : every_(every) {}
  /// Calls f(operators, name of the order) once for each order.
  virtual void for_each_order(const std::function<void(const Ops&, const std::string&)>& f) const = 0;

 private:
  int64_t every_;
  mutable int64_t next_case_ = 0;
};

}  // namespace zoetrope::test
