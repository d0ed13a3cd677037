#include "core/check.h"
#include "schedule/replay.h"

namespace zoetrope {

void ReplayRecorder::begin() {
  trace_.clear();
  num_exchanges_ = num_collectives_ = 0;
  is_recording_ = true;
  piece_start_ = clock_();
}

void ReplayRecorder::end() {
  close_piece();
  is_recording_ = false;
}

/// Appends the piece since the last event and starts the next one.
void ReplayRecorder::close_piece() {
  const int64_t now = clock_();
  if (now > piece_start_) trace_.push_back({ReplayEvent::kCompute, now - piece_start_, 0, {}});
  piece_start_ = now;
}

int64_t ReplayRecorder::post(std::vector<ReplayMessage> messages) {
  if (is_recording_) {
    close_piece();
    trace_.push_back({ReplayEvent::kPost, num_exchanges_, 0, std::move(messages)});
  }
  return num_exchanges_++;
}

int64_t ReplayRecorder::post_collective(int64_t bytes) {
  if (is_recording_) {
    close_piece();
    trace_.push_back({ReplayEvent::kPostCollective, num_collectives_, bytes, {}});
  }
  return num_collectives_++;
}

void ReplayRecorder::wait_begins() {
  if (is_recording_) close_piece();
}

void ReplayRecorder::waited(int64_t exchange) {
  if (!is_recording_) return;
  trace_.push_back({ReplayEvent::kAwait, exchange, 0, {}});
  piece_start_ = clock_();
}

void ReplayRecorder::waited_for_collective(int64_t collective) {
  if (!is_recording_) return;
  trace_.push_back({ReplayEvent::kAwaitCollective, collective, 0, {}});
  piece_start_ = clock_();
}

void ReplayRecorder::mark(int64_t label) {
  if (!is_recording_) return;
  close_piece();
  trace_.push_back({ReplayEvent::kMark, label, 0, {}});
}

std::vector<int64_t> pack_trace(const ReplayTrace& trace) {
  std::vector<int64_t> numbers;
  for (const ReplayEvent& event : trace) {
    numbers.insert(numbers.end(),
                   {int64_t(event.kind), event.value, event.bytes, int64_t(event.messages.size())});
    for (const ReplayMessage& m : event.messages)
      numbers.insert(numbers.end(), {int64_t(m.outgoing), int64_t(m.peer), int64_t(m.tag), m.bytes});
  }
  return numbers;
}

ReplayTrace unpack_trace(const std::vector<int64_t>& numbers) {
  ReplayTrace trace;
  size_t at = 0;
  const auto next = [&] {
    ZT_CHECK(at < numbers.size(), "a packed trace ends after ", at, " numbers, inside an event");
    return numbers[at++];
  };
  while (at < numbers.size()) {
    ReplayEvent event;
    const int64_t kind = next();
    ZT_CHECK(kind >= ReplayEvent::kCompute && kind <= ReplayEvent::kMark,
             "a packed trace holds an event of kind ", kind);
    event.kind = ReplayEvent::Kind(kind);
    event.value = next();
    event.bytes = next();
    const int64_t num_messages = next();
    ZT_CHECK(num_messages >= 0 && num_messages <= int64_t(numbers.size() - at) / 4,
             "a packed trace holds a call of ", num_messages, " messages");
    for (int64_t i = 0; i < num_messages; ++i) {
      const bool outgoing = next() != 0;
      const int peer = int(next()), tag = int(next());
      event.messages.push_back({outgoing, peer, tag, next()});
    }
    trace.push_back(std::move(event));
  }
  return trace;
}

}  // namespace zoetrope
