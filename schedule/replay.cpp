// Note [Replay order]
// Always the rank with the earliest clock goes next (the lower number on ties), and nothing that a rank does
// touches the past of another: a message becomes ready when its second end is posted, which is now, and a
// rank that waited goes on at the arrival, which is not before now. So ports serve messages in the order in
// which these become ready, and the result depends on the traces alone.
#include "schedule/replay.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <tuple>

#include "core/check.h"

namespace zoetrope {
namespace {

struct Rank {
  int64_t clock = 0, label = -1;
  size_t next = 0;
  bool is_blocked = false;
  std::map<int64_t, std::pair<int64_t, int64_t>>
      exchanges;                     // number -> (messages open, time of the last arrival)
  std::vector<int64_t> collectives;  // numbers in the order posted
};

struct Message {
  struct End {
    int rank = 0;
    int64_t exchange = 0;
  };
  int from = 0, to = 0;
  int64_t bytes = 0;
  End first, second;   ///< posted one after the other
  int64_t ready = -1;  ///< when the second was
};

struct Port {
  int64_t free = 0;
  std::deque<size_t> queue;  ///< numbers of messages, read only where they go in order
};

struct Collective {
  int64_t joined = 0, bytes = 0, end = 0;
};

class Replayer {
 public:
  Replayer(const std::vector<ReplayTrace>& traces, const LinkModel& link)
      : traces_(traces),
        link_(link),
        ranks_(traces.size()),
        ports_out_(traces.size()),
        ports_in_(traces.size()) {
    result_.busy_ns.assign(traces.size(), 0);
    result_.wait_ns = result_.collective_ns = result_.busy_ns;
    result_.spans.resize(traces.size());
  }

  ReplayResult run() {
    for (int rank = next_rank(); rank >= 0; rank = next_rank()) step(rank);
    check_all_ended();
    for (const Rank& rank : ranks_) result_.total_ns = std::max(result_.total_ns, rank.clock);
    return std::move(result_);
  }

 private:
  int next_rank() const {
    int found = -1;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i].is_blocked || ranks_[i].next == traces_[i].size()) continue;
      if (found < 0 || ranks_[i].clock < ranks_[size_t(found)].clock) found = int(i);
    }
    return found;
  }

  void add_span(int rank, ReplaySpan::Kind kind, int64_t end) {
    Rank& r = ranks_[size_t(rank)];
    if (end <= r.clock) return;
    auto& spans = result_.spans[size_t(rank)];
    if (!spans.empty() && spans.back().kind == kind && spans.back().label == r.label &&
        spans.back().end_ns == r.clock)
      spans.back().end_ns = end;
    else spans.push_back({kind, r.clock, end, r.label});
    std::vector<int64_t>& sum = kind == ReplaySpan::kCompute ? result_.busy_ns
                                : kind == ReplaySpan::kWait  ? result_.wait_ns
                                                             : result_.collective_ns;
    sum[size_t(rank)] += end - r.clock;
    r.clock = end;
  }

  void step(int rank) {
    Rank& r = ranks_[size_t(rank)];
    const ReplayEvent& event = traces_[size_t(rank)][r.next];
    switch (event.kind) {
      case ReplayEvent::kCompute: add_span(rank, ReplaySpan::kCompute, r.clock + event.value); break;
      case ReplayEvent::kMark: r.label = event.value; break;
      case ReplayEvent::kPost: post(rank, event); break;
      case ReplayEvent::kPostCollective: join(rank, event); break;
      case ReplayEvent::kAwait: {
        const auto found = r.exchanges.find(event.value);
        ZT_CHECK(found != r.exchanges.end(), "rank ", rank, " awaits exchange ", event.value,
                 ", which it never posted");
        if (found->second.first > 0) {
          r.is_blocked = true;
          return;
        }
        add_span(rank, ReplaySpan::kWait, found->second.second);
        break;
      }
      case ReplayEvent::kAwaitCollective: {
        ZT_CHECK(event.value < int64_t(r.collectives.size()), "rank ", rank, " awaits collective ",
                 event.value, ", which it never joined");
        const Collective& collective = collectives_[size_t(event.value)];
        if (collective.joined < int64_t(ranks_.size())) {
          r.is_blocked = true;
          return;
        }
        add_span(rank, ReplaySpan::kCollective, collective.end);
        break;
      }
    }
    ++r.next;
  }

  void post(int rank, const ReplayEvent& event) {
    Rank& r = ranks_[size_t(rank)];
    r.exchanges[event.value] = {int64_t(event.messages.size()), r.clock};
    for (const ReplayMessage& message : event.messages) {
      ZT_CHECK(message.peer >= 0 && message.peer < int(ranks_.size()), "rank ", rank, " exchanges with rank ",
               message.peer, " of ", ranks_.size());
      const int from = message.outgoing ? rank : message.peer, to = message.outgoing ? message.peer : rank;
      Port& port = message.outgoing ? ports_out_[size_t(from)] : ports_in_[size_t(to)];
      auto& own_ends = open_[{from, to, message.tag, message.outgoing}];
      auto& other_ends = open_[{from, to, message.tag, !message.outgoing}];
      if (other_ends.empty()) {
        own_ends.push_back(messages_.size());
        port.queue.push_back(messages_.size());
        messages_.push_back({from, to, message.bytes, {rank, event.value}, {}, -1});
        continue;
      }
      const size_t number = other_ends.front();
      other_ends.pop_front();
      port.queue.push_back(number);
      Message& other = messages_[number];
      ZT_CHECK(other.bytes == message.bytes, "a message from rank ", from, " to rank ", to, " has ",
               message.bytes, " bytes at one end and ", other.bytes, " at the other");
      other.second = {rank, event.value};
      other.ready = r.clock;
      link_.in_order ? transfer_heads(from, to) : transfer(other);
    }
  }

  /// In order: what is first at both of its ports goes, and after it perhaps what stood behind.
  void transfer_heads(int from, int to) {
    std::vector<std::pair<int, int>> changed{{from, to}};
    const auto look = [&](const Port& port) {
      if (port.queue.empty()) return;
      const Message& first = messages_[port.queue.front()];
      changed.emplace_back(first.from, first.to);
    };
    while (!changed.empty()) {
      Port &out = ports_out_[size_t(changed.back().first)], &in = ports_in_[size_t(changed.back().second)];
      changed.pop_back();
      if (out.queue.empty() || in.queue.empty() || out.queue.front() != in.queue.front()) continue;
      Message& message = messages_[out.queue.front()];
      if (message.ready < 0) continue;
      out.queue.pop_front();
      in.queue.pop_front();
      transfer(message);
      look(out);
      look(in);
    }
  }

  void transfer(const Message& message) {
    int64_t &out = ports_out_[size_t(message.from)].free, &in = ports_in_[size_t(message.to)].free;
    const bool between = message.from / link_.ranks_per_node != message.to / link_.ranks_per_node &&
                         link_.between_bytes_per_second > 0;
    const double rate = between ? link_.between_bytes_per_second : link_.bytes_per_second;
    const int64_t held = rate > 0 ? std::llround(1e9 * double(message.bytes) / rate) : 0;
    out = in = std::max({message.ready, out, in}) + held;
    const int64_t arrival = in + (between ? link_.between_latency_ns : link_.latency_ns);
    complete(message.first.rank, message.first.exchange, arrival);
    complete(message.second.rank, message.second.exchange, arrival);
  }

  void complete(int rank, int64_t exchange, int64_t arrival) {
    auto& [open, last] = ranks_[size_t(rank)].exchanges[exchange];
    --open;
    last = std::max(last, arrival);
    if (open == 0) ranks_[size_t(rank)].is_blocked = false;  // its await looks again
  }

  void join(int rank, const ReplayEvent& event) {
    Rank& r = ranks_[size_t(rank)];
    const size_t number = r.collectives.size();
    r.collectives.push_back(event.value);
    if (number == collectives_.size()) collectives_.push_back({0, event.bytes, 0});
    Collective& collective = collectives_[number];
    ZT_CHECK(collective.bytes == event.bytes, "collective ", number, " has ", event.bytes, " bytes on rank ",
             rank, " and ", collective.bytes, " on another");
    if (++collective.joined < int64_t(ranks_.size())) return;
    const int64_t length =
        link_.collective_latency_ns + std::llround(link_.collective_ns_per_byte * double(collective.bytes));
    const int64_t earlier = number > 0 ? collectives_[number - 1].end : 0;  // one after another
    collective.end = std::max(r.clock, earlier) + (ranks_.size() > 1 ? length : 0);
    for (Rank& each : ranks_) each.is_blocked = false;  // those that wait for something else block again
  }

  void check_all_ended() const {
    for (size_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i].next == traces_[i].size()) continue;
      const ReplayEvent& event = traces_[i][ranks_[i].next];
      if (event.kind == ReplayEvent::kAwaitCollective)
        throw Error(join_message("replay: rank ", i, " waits for collective ", event.value,
                                 ", which not all ranks join"));
      std::string peers;
      for (const ReplayEvent& posted : traces_[i])
        if (posted.kind == ReplayEvent::kPost && posted.value == event.value)
          for (const ReplayMessage& message : posted.messages) peers += join_message(" ", message.peer);
      throw Error(join_message("replay: rank ", i, " waits for ever for exchange ", event.value, " with rank",
                               peers));
    }
  }

  const std::vector<ReplayTrace>& traces_;
  const LinkModel& link_;
  std::vector<Rank> ranks_;
  std::vector<Port> ports_out_, ports_in_;
  std::vector<Message> messages_;
  std::map<std::tuple<int, int, int, bool>, std::deque<size_t>> open_;  // (from, to, tag, is the sender's)
  std::vector<Collective> collectives_;
  ReplayResult result_;
};

}  // namespace

double ReplayResult::max_over_mean() const {
  const int64_t sum = std::accumulate(busy_ns.begin(), busy_ns.end(), int64_t(0));
  if (sum == 0) return 1;
  return double(*std::max_element(busy_ns.begin(), busy_ns.end())) * double(busy_ns.size()) / double(sum);
}

double ReplayResult::mean_wait_ns() const {
  if (wait_ns.empty()) return 0;
  return double(std::accumulate(wait_ns.begin(), wait_ns.end(), int64_t(0))) / double(wait_ns.size());
}

ReplayResult replay(const std::vector<ReplayTrace>& traces, const LinkModel& link) {
  return Replayer(traces, link).run();
}

}  // namespace zoetrope
