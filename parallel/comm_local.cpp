// Ranks as threads of one process: messages are matched under one lock and copied once. Waiting ranks watch
// each other, so that a failed rank or a circle of waits ends all of them with an error instead of a hang.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "core/check.h"
#include "parallel/collectives.h"

namespace zoetrope {
namespace {

enum Channel { kRingChannel = 0, kCollectiveChannel = 1 };

/// One end of a message that waits for its other end.
struct Posted {
  Channel channel;
  int from, to, tag;
  char* data;
  int64_t bytes;
  int64_t* open;  ///< messages that the owning transfer still waits for
};

class World {
 public:
  explicit World(int size) : size_(size), waiting_(size_t(size)), ended_(size_t(size)) {}
  int size() const { return size_; }

  void post(Channel channel, int rank, const std::vector<Send>& sends, const std::vector<Receive>& receives,
            int64_t* open) {
    const std::lock_guard lock(mutex_);
    throw_if_failed();
    *open = int64_t(sends.size() + receives.size());
    for (const Receive& r : receives)
      match({channel, r.from, rank, r.tag, static_cast<char*>(r.data), r.bytes, open}, sends_, receives_,
            false);
    for (const Send& s : sends)
      match({channel, rank, s.to, s.tag, static_cast<char*>(const_cast<void*>(s.data)), s.bytes, open},
            receives_, sends_, true);
    changed_.notify_all();
  }

  bool is_complete(const int64_t* open) {
    const std::lock_guard lock(mutex_);
    if (*open != 0) throw_if_failed();
    return *open == 0;
  }

  void wait(int rank, const int64_t* open) {
    std::unique_lock lock(mutex_);
    if (*open == 0) return;
    throw_if_failed();
    waiting_[size_t(rank)] = open;
    fail_on_circle();
    changed_.wait(lock, [&] { return failed_ || *open == 0; });
    waiting_[size_t(rank)] = nullptr;
    if (*open != 0) throw_if_failed();
  }

  /// Forgets what a transfer that ends early has posted: its buffers may go away.
  void withdraw(const int64_t* open) {
    const std::lock_guard lock(mutex_);
    const auto is_mine = [open](const Posted& p) { return p.open == open; };
    std::erase_if(sends_, is_mine);
    std::erase_if(receives_, is_mine);
  }

  void end_rank(int rank) {
    const std::lock_guard lock(mutex_);
    ended_[size_t(rank)] = true;
    fail_on_circle();
  }

  void fail(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    set_failed(reason);
  }

 private:
  /// Joins `one` with the oldest counterpart in `others`, or keeps it in `own`.
  void match(const Posted& one, std::deque<Posted>& others, std::deque<Posted>& own, bool one_sends) {
    const auto other = std::find_if(others.begin(), others.end(), [&](const Posted& p) {
      return p.channel == one.channel && p.from == one.from && p.to == one.to && p.tag == one.tag;
    });
    if (other == others.end()) {
      own.push_back(one);
      return;
    }
    const Posted& send = one_sends ? one : *other;
    const Posted& receive = one_sends ? *other : one;
    ZT_CHECK(send.bytes == receive.bytes, "rank ", one.from, " sends ", send.bytes, " bytes with tag ",
             one.tag, ", rank ", one.to, " expects ", receive.bytes);
    if (send.bytes > 0) std::memcpy(receive.data, send.data, size_t(send.bytes));
    --*send.open;
    --*receive.open;
    others.erase(other);
  }

  void fail_on_circle() {
    std::string who;
    for (int rank = 0; rank < size_; ++rank) {
      if (ended_[size_t(rank)]) continue;
      const int64_t* open = waiting_[size_t(rank)];
      if (open == nullptr || *open == 0) return;
      who += (who.empty() ? "" : ", ") + std::to_string(rank);
    }
    if (!who.empty()) set_failed("ranks " + who + " wait for messages that nobody will send (circular wait)");
  }

  void set_failed(const std::string& reason) {
    if (!failed_) reason_ = reason;
    failed_ = true;
    changed_.notify_all();
  }
  void throw_if_failed() const {
    if (failed_) throw Error("stopped since another rank failed: " + reason_);
  }

  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Posted> sends_, receives_;
  std::vector<const int64_t*> waiting_;
  std::vector<char> ended_;
  bool failed_ = false;
  std::string reason_;
};

class LocalTransfer : public Transfer {
 public:
  LocalTransfer(World& world, Channel channel, int rank, const std::vector<Send>& sends,
                const std::vector<Receive>& receives)
      : world_(world), rank_(rank) {
    try {
      world_.post(channel, rank, sends, receives, &open_);
    } catch (...) {
      world_.withdraw(&open_);
      throw;
    }
  }
  ~LocalTransfer() override { world_.withdraw(&open_); }
  bool test() override { return world_.is_complete(&open_); }
  void wait() override { world_.wait(rank_, &open_); }

 private:
  World& world_;
  int rank_;
  int64_t open_ = 0;
};

class LocalComm : public Comm {
 public:
  LocalComm(std::shared_ptr<World> world, int rank, const char* name)
      : world_(std::move(world)), rank_(rank), name_(name) {
    post_ = [this](const std::vector<Send>& sends, const std::vector<Receive>& receives) {
      return std::make_unique<LocalTransfer>(*world_, kCollectiveChannel, rank_, sends, receives);
    };
  }
  int rank() const override { return rank_; }
  int size() const override { return world_->size(); }
  const char* name() const override { return name_; }

  std::unique_ptr<Transfer> exchange(const std::vector<Send>& sends,
                                     const std::vector<Receive>& receives) override {
    return std::make_unique<LocalTransfer>(*world_, kRingChannel, rank_, sends, receives);
  }
  void progress() override { sums_.progress(); }
  void all_reduce_sum(const Tensor& values) override { start_all_reduce_sum(values)->wait(); }
  std::unique_ptr<Transfer> start_all_reduce_sum(const Tensor& values) override {
    return sums_.start(rank_, size(), values, post_);
  }
  double all_reduce_max(double value) override { return largest_of(all_gather(&value, sizeof value)); }
  std::vector<std::byte> all_gather(const void* data, int64_t bytes) override {
    return gather_from_all(rank_, size(), data, bytes, kGatherTag, post_);
  }
  void broadcast(void* data, int64_t bytes, int root) override {
    std::vector<Send> sends;
    std::vector<Receive> receives;
    if (rank_ != root) receives.push_back({root, data, bytes, kBroadcastTag});
    for (int r = 0; rank_ == root && r < size(); ++r)
      if (r != root) sends.push_back({r, data, bytes, kBroadcastTag});
    post_(sends, receives)->wait();
  }
  void barrier() override {
    const char token = 0;
    all_gather(&token, 1);
  }
  [[noreturn]] void abort(const std::string& message) override {
    world_->fail("rank " + std::to_string(rank_) + ": " + message);
    throw Error(message);
  }

 private:
  static constexpr int kGatherTag = 0, kBroadcastTag = 1;
  std::shared_ptr<World> world_;
  int rank_;
  const char* name_;
  PostMessages post_;
  SumsInFlight sums_;
};

}  // namespace

void run_local_ranks(int num_ranks, const std::function<void(Comm&)>& body) {
  ZT_CHECK(num_ranks >= 1, num_ranks, " ranks asked for");
  const auto world = std::make_shared<World>(num_ranks);
  std::mutex mutex;
  std::exception_ptr first_error;
  const auto run_rank = [&](int rank) {
    try {
      LocalComm comm(world, rank, "threads");
      body(comm);
      world->end_rank(rank);
    } catch (const std::exception& error) {
      {
        const std::lock_guard lock(mutex);
        if (!first_error) first_error = std::current_exception();
      }
      world->fail("rank " + std::to_string(rank) + ": " + error.what());
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 1; rank < num_ranks; ++rank) threads.emplace_back(run_rank, rank);
  run_rank(0);
  for (std::thread& thread : threads) thread.join();
  if (first_error) std::rethrow_exception(first_error);
}

std::unique_ptr<Comm> make_single_comm() {
  return std::make_unique<LocalComm>(std::make_shared<World>(1), 0, "single");
}

}  // namespace zoetrope
