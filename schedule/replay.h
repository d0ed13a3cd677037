// What a step would take with a processor per rank: each rank's pieces, timed by its thread CPU clock, are
// put on N processors by the exchanges between them and a model of the links. For runs with more ranks than
// cores, where wall time hides imbalance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/clocks.h"

namespace zoetrope {

/// One message of a grouped call, seen from one of its two ends.
struct ReplayMessage {
  bool outgoing = false;
  int peer = 0;
  int tag = 0;
  int64_t bytes = 0;
  bool operator==(const ReplayMessage&) const = default;
};

/// What a rank did next. Exchanges and collectives are numbered per rank in the order in which they start.
struct ReplayEvent {
  enum Kind {
    kCompute,          ///< value: ns of the rank's CPU clock
    kPost,             ///< value: number of the exchange; `messages` is the grouped call
    kAwait,            ///< value: number of the exchange that must be complete to go on
    kPostCollective,   ///< value: number of the collective; bytes: size of the tensor it sums, 0 for a small
                       ///< one
    kAwaitCollective,  ///< value: number of the collective
    kMark,             ///< value: a label of the caller (the wave); changes no time
  };
  Kind kind = kCompute;
  int64_t value = 0, bytes = 0;
  std::vector<ReplayMessage> messages;
  bool operator==(const ReplayEvent&) const = default;
};
using ReplayTrace = std::vector<ReplayEvent>;

/// Fed by whoever issues exchanges; costs one clock read per call. One thread per rank computes.
class ReplayRecorder {
 public:
  explicit ReplayRecorder(ClockNs clock = thread_cpu_ns) : clock_(clock) {}
  /// Forgets everything and starts the first piece.
  void begin();
  /// Ends the last piece.
  void end();
  /// A compute piece ended and an exchange is about to be posted. Returns its number.
  int64_t post(std::vector<ReplayMessage> messages);
  /// The same for a collective over all ranks.
  int64_t post_collective(int64_t bytes);
  /// A compute piece ended; what follows until `waited` is no compute.
  void wait_begins();
  void waited(int64_t exchange);
  void waited_for_collective(int64_t collective);
  /// Labels what follows.
  void mark(int64_t label);
  bool is_recording() const { return is_recording_; }
  const ReplayTrace& trace() const { return trace_; }

 private:
  void close_piece();
  ClockNs clock_;
  ReplayTrace trace_;
  int64_t piece_start_ = 0, num_exchanges_ = 0, num_collectives_ = 0;
  bool is_recording_ = false;
};

/// Flat numbers, to gather traces over ranks, and back. Throws: Error on numbers that are no trace.
std::vector<int64_t> pack_trace(const ReplayTrace& trace);
ReplayTrace unpack_trace(const std::vector<int64_t>& numbers);

/// Every rank has one port out and one port in; a message holds both for bytes / rate, one after another in
/// the order in which they become ready (posted at both ends; or `in_order`), and arrives `latency_ns` later.
struct LinkModel {
  double bytes_per_second = 0;  ///< 0: no time at all
  int64_t latency_ns = 0;
  /// A collective ends this long after the last rank joined it, plus per byte of the tensor.
  int64_t collective_latency_ns = 0;
  double collective_ns_per_byte = 0;
  /// A rank's messages go through its ports in the order in which it posted them, as on one communicator of
  /// grouped calls; one whose other end is not posted holds up those behind it.
  bool in_order = false;
  /// Nodes are groups of so many consecutive ranks; between them: 0 bytes per second, the same as inside.
  int64_t ranks_per_node = INT64_MAX;
  double between_bytes_per_second = 0;
  int64_t between_latency_ns = 0;
};

/// What a rank did between two times.
struct ReplaySpan {
  enum Kind { kCompute, kWait, kCollective } kind = kCompute;
  int64_t begin_ns = 0, end_ns = 0;
  int64_t label = -1;  ///< the last mark
};

struct ReplayResult {
  int64_t total_ns = 0;
  std::vector<int64_t> busy_ns, wait_ns,
      collective_ns;                           ///< per rank: compute; blocked on exchanges; on collectives
  std::vector<std::vector<ReplaySpan>> spans;  ///< per rank, in time order, neighbours of a kind joined
  double max_over_mean() const;                ///< of busy_ns
  double mean_wait_ns() const;
};

/// Puts the traces of all ranks on one processor each.
/// Throws: Error naming rank and peer when a message has no partner, sizes differ, or ranks wait in a circle.
ReplayResult replay(const std::vector<ReplayTrace>& traces, const LinkModel& link);

}  // namespace zoetrope
