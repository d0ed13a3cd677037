#include "parallel/comm_link.h"

#include <time.h>

#include <algorithm>
#include <deque>
#include <thread>

#include "core/check.h"
#include "parallel/comm_forwarding.h"

namespace zoetrope {
namespace {

/// The machine's clock, the same for all threads and processes.
int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

/// A message on its way to this rank. The header, which travels with it, says when the sender posted it.
struct Arrival {
  int64_t sent_ns = 0;    ///< filled by the header
  int64_t posted_ns = 0;  ///< when this rank posted the receive
  int64_t bytes = 0;
  int64_t arrives_ns = -1;             ///< -1: not known yet
  std::shared_ptr<Transfer> transfer;  ///< completes when header and payload are here
};

/// Messages of one direction in posting order, and when the link is free again.
struct Link {
  std::deque<std::shared_ptr<Arrival>> pending;
  int64_t free_ns = 0;
};

class LinkState {
 public:
  LinkState(int ranks, double bytes_per_second, double latency_seconds)
      : links_(size_t(ranks)),
        bytes_per_second_(bytes_per_second),
        latency_ns_(int64_t(latency_seconds * 1e9)) {
    ZT_REQUIRE(bytes_per_second > 0 && latency_seconds >= 0, "a link of ", bytes_per_second, " bytes/s and ",
               latency_seconds, " s latency; the rate must be positive and the latency not negative");
  }
  void expect(int from, std::shared_ptr<Arrival> arrival) {
    links_[size_t(from)].pending.push_back(std::move(arrival));
  }
  /// Computes the arrival time of every message that is here in fact, in posting order per link.
  void advance() {
    for (Link& link : links_)
      while (!link.pending.empty() && link.pending.front()->transfer->test()) {
        Arrival& arrival = *link.pending.front();
        const int64_t start = std::max({arrival.sent_ns, arrival.posted_ns, link.free_ns});
        link.free_ns = start + int64_t(double(arrival.bytes) * 1e9 / bytes_per_second_);
        arrival.arrives_ns = link.free_ns + latency_ns_;
        link.pending.pop_front();
      }
  }
  /// Forgets messages of a transfer that ends early.
  void forget(const std::vector<std::shared_ptr<Arrival>>& arrivals) {
    for (Link& link : links_)
      std::erase_if(link.pending, [&](const std::shared_ptr<Arrival>& arrival) {
        return std::find(arrivals.begin(), arrivals.end(), arrival) != arrivals.end();
      });
  }

 private:
  std::vector<Link> links_;  // by sender
  double bytes_per_second_;
  int64_t latency_ns_;
};

class LinkTransfer : public Transfer {
 public:
  LinkTransfer(Comm& inner, std::shared_ptr<LinkState> state, const std::vector<Send>& sends,
               const std::vector<Receive>& receives)
      : state_(std::move(state)), sent_ns_(now_ns()) {
    std::vector<Send> all_sends;
    for (const Send& s : sends) {
      all_sends.push_back({s.to, &sent_ns_, sizeof sent_ns_, 2 * s.tag});
      all_sends.push_back({s.to, s.data, s.bytes, 2 * s.tag + 1});
    }
    std::vector<Receive> all_receives;
    for (const Receive& r : receives) {
      auto& arrival = arrivals_.emplace_back(std::make_shared<Arrival>());
      arrival->posted_ns = sent_ns_;
      arrival->bytes = r.bytes;
      all_receives.push_back({r.from, &arrival->sent_ns, sizeof arrival->sent_ns, 2 * r.tag});
      all_receives.push_back({r.from, r.data, r.bytes, 2 * r.tag + 1});
    }
    inner_ = inner.exchange(all_sends, all_receives);
    for (size_t i = 0; i < receives.size(); ++i) {
      arrivals_[i]->transfer = inner_;
      state_->expect(receives[i].from, arrivals_[i]);
    }
  }
  ~LinkTransfer() override { state_->forget(arrivals_); }
  bool test() override {
    state_->advance();
    return inner_->test() && has_arrived();
  }
  void wait() override {
    inner_->wait();
    while (!test()) std::this_thread::yield();
  }

 private:
  bool has_arrived() const {
    return std::all_of(arrivals_.begin(), arrivals_.end(), [now = now_ns()](const auto& arrival) {
      return arrival->arrives_ns >= 0 && arrival->arrives_ns <= now;
    });
  }

  std::shared_ptr<LinkState> state_;
  int64_t sent_ns_;
  std::vector<std::shared_ptr<Arrival>> arrivals_;
  std::shared_ptr<Transfer> inner_;
};

class LinkComm : public ForwardingComm {
 public:
  LinkComm(std::unique_ptr<Comm> owned, Comm& inner, double bytes_per_second, double latency_seconds)
      : ForwardingComm(inner),
        owned_(std::move(owned)),
        state_(std::make_shared<LinkState>(inner.size(), bytes_per_second, latency_seconds)) {}
  const char* name() const override { return "link"; }
  std::unique_ptr<Transfer> exchange(const std::vector<Send>& sends,
                                     const std::vector<Receive>& receives) override {
    return std::make_unique<LinkTransfer>(inner_, state_, sends, receives);
  }
  void progress() override {
    inner_.progress();
    state_->advance();
  }

 private:
  std::unique_ptr<Comm> owned_;
  std::shared_ptr<LinkState> state_;
};

}  // namespace

std::unique_ptr<Comm> make_link_comm(std::unique_ptr<Comm> inner, double bytes_per_second,
                                     double latency_seconds) {
  Comm& reference = *inner;
  return std::make_unique<LinkComm>(std::move(inner), reference, bytes_per_second, latency_seconds);
}
std::unique_ptr<Comm> make_link_comm(Comm& inner, double bytes_per_second, double latency_seconds) {
  return std::make_unique<LinkComm>(nullptr, inner, bytes_per_second, latency_seconds);
}

}  // namespace zoetrope
