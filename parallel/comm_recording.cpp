#include "parallel/comm_recording.h"

#include <cstring>

#include "parallel/comm_forwarding.h"

namespace zoetrope {
namespace {

/// Tells the recorder once when the rank has seen the transfer complete.
class RecordingTransfer : public Transfer {
 public:
  RecordingTransfer(std::unique_ptr<Transfer> inner, ReplayRecorder& recorder, int64_t number,
                    bool is_collective)
      : inner_(std::move(inner)), recorder_(recorder), number_(number), is_collective_(is_collective) {}
  bool test() override {
    if (!inner_->test()) return false;
    if (!is_seen_) {
      recorder_.wait_begins();
      report();
    }
    return true;
  }
  void wait() override {
    if (!is_seen_) recorder_.wait_begins();
    inner_->wait();
    if (!is_seen_) report();
  }

 private:
  void report() {
    is_seen_ = true;
    if (is_collective_) recorder_.waited_for_collective(number_);
    else recorder_.waited(number_);
  }

  std::unique_ptr<Transfer> inner_;
  ReplayRecorder& recorder_;
  int64_t number_;
  bool is_collective_, is_seen_ = false;
};

class RecordingComm : public ForwardingComm {
 public:
  RecordingComm(Comm& inner, ReplayRecorder& recorder) : ForwardingComm(inner), recorder_(recorder) {}
  std::unique_ptr<Transfer> exchange(const std::vector<Send>& sends,
                                     const std::vector<Receive>& receives) override {
    std::vector<ReplayMessage> messages;
    for (const Send& send : sends) messages.push_back({true, send.to, send.tag, send.bytes});
    for (const Receive& receive : receives)
      messages.push_back({false, receive.from, receive.tag, receive.bytes});
    const int64_t number = recorder_.post(std::move(messages));
    return std::make_unique<RecordingTransfer>(inner_.exchange(sends, receives), recorder_, number, false);
  }
  void all_reduce_sum(const Tensor& values) override {
    collective(values.bytes(), [&] { inner_.all_reduce_sum(values); });
  }
  std::unique_ptr<Transfer> start_all_reduce_sum(const Tensor& values) override {
    const int64_t number = recorder_.post_collective(values.bytes());
    return std::make_unique<RecordingTransfer>(inner_.start_all_reduce_sum(values), recorder_, number, true);
  }
  double all_reduce_max(double value) override {
    collective(0, [&] { value = inner_.all_reduce_max(value); });
    return value;
  }
  std::vector<std::byte> all_gather(const void* data, int64_t bytes) override {
    std::vector<std::byte> all;
    collective(0, [&] { all = inner_.all_gather(data, bytes); });
    return all;
  }
  void broadcast(void* data, int64_t bytes, int root) override {
    collective(0, [&] { inner_.broadcast(data, bytes, root); });
  }
  void barrier() override {
    collective(0, [&] { inner_.barrier(); });
  }

 private:
  template <class Body>
  void collective(int64_t bytes, Body body) {
    const int64_t number = recorder_.post_collective(bytes);
    recorder_.wait_begins();
    body();
    recorder_.waited_for_collective(number);
  }

  ReplayRecorder& recorder_;
};

}  // namespace

std::unique_ptr<Comm> make_recording_comm(Comm& inner, ReplayRecorder& recorder) {
  return std::make_unique<RecordingComm>(inner, recorder);
}

std::vector<ReplayTrace> gather_traces(Comm& comm, const ReplayTrace& own) {
  std::vector<int64_t> numbers = pack_trace(own);
  const size_t count = numbers.size();
  const size_t most = size_t(comm.all_reduce_max(double(count)));  // counts stay far below 2^53
  numbers.insert(numbers.begin(), int64_t(count));
  numbers.resize(most + 1);
  const int64_t bytes = int64_t(numbers.size() * sizeof(int64_t));
  const std::vector<std::byte> all = comm.all_gather(numbers.data(), bytes);
  std::vector<ReplayTrace> traces;
  for (int rank = 0; rank < comm.size(); ++rank) {
    std::memcpy(numbers.data(), all.data() + rank * bytes, size_t(bytes));
    traces.push_back(unpack_trace({numbers.begin() + 1, numbers.begin() + 1 + numbers[0]}));
  }
  return traces;
}

}  // namespace zoetrope
