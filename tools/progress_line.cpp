#include "tools/progress_line.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/text_format.h"

namespace zoetrope {
namespace {

using Clock = std::chrono::steady_clock;

/// "0:07", "12:30", "3:05:00".
std::string clock_text(double seconds) {
  const int64_t all = int64_t(std::max(0.0, seconds) + 0.5);
  const auto part = [](int64_t value) { return static_cast<long long>(value); };
  if (all < 3600) return format_text("%lld:%02lld", part(all / 60), part(all % 60));
  return format_text("%lld:%02lld:%02lld", part(all / 3600), part(all / 60 % 60), part(all % 60));
}

std::string rate_text(double rate, const char* what) {
  return (rate < 9.95 ? format_text("%.1f", rate) : with_commas(int64_t(rate + 0.5))) + " " + what;
}

/// Share that is left over share that was done; by bytes where they are known, since items differ in size.
double seconds_left(const ProgressState& state, const ProgressState& first, double seconds) {
  double done = double(state.done - first.done), left = double(state.total - state.done);
  if (state.total_bytes > 0) {
    done = double(state.bytes - std::max<int64_t>(0, first.bytes));
    left = double(std::max<int64_t>(0, state.total_bytes - state.bytes));
  }
  return done > 0 && left >= 0 ? seconds * left / done : -1;
}

/// A part of the line; parts of high rank go first when it is too long.
struct Part {
  std::string text;
  int rank = 0;
};

std::string joined(const std::vector<Part>& parts) {
  std::string line;
  for (const Part& part : parts) line += (line.empty() ? "" : ", ") + part.text;
  return line;
}

int columns_of(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string progress_text(const ProgressState& state, const ProgressState& first, double seconds, int width,
                          bool ended) {
  std::vector<Part> parts{{with_commas(state.done) +
                               (state.total >= 0 ? " of " + with_commas(state.total) + " " : " ") +
                               state.what,
                           0}};
  const double time = std::max(seconds, 1e-3);
  const bool begun = seconds >= 0.1;  // a rate over less says nothing
  if (state.refused >= 0) parts.push_back({with_commas(state.refused) + " refused", 2});
  if (state.frames >= 0 && begun) parts.push_back({rate_text(double(state.frames) / time, "frames/s"), 3});
  if (state.total_bytes >= 0) {
    parts.push_back({byte_text(std::max<int64_t>(0, state.bytes), state.total_bytes) + " of " +
                         byte_text(state.total_bytes),
                     4});
    const double rate = double(state.bytes - std::max<int64_t>(0, first.bytes)) / time / 1e6;
    if (begun) parts.push_back({rate_text(rate, "MB/s"), 5});
  }
  if (ended) {
    parts.push_back({"took " + clock_text(seconds), 1});
  } else if (const double left = seconds_left(state, first, seconds); begun && left >= 0) {
    parts.push_back({clock_text(left) + " left", 1});
  }
  while (parts.size() > 1 && int(joined(parts).size()) > width)
    parts.erase(std::max_element(parts.begin(), parts.end(),
                                 [](const Part& a, const Part& b) { return a.rank < b.rank; }));
  return joined(parts).substr(0, size_t(std::max(0, width)));
}

ProgressLine::ProgressLine(bool quiet, Refresh refresh)
    : ProgressLine(Settings{quiet, STDERR_FILENO}, std::move(refresh)) {}

ProgressLine::ProgressLine(const Settings& settings, Refresh refresh)
    : settings_(settings), refresh_(std::move(refresh)), terminal_(isatty(settings.descriptor) != 0) {}

ProgressLine::~ProgressLine() {
  {
    const std::lock_guard guard(lock_);
    ended_ = true;
  }
  ending_.notify_all();
  if (thread_.joinable()) thread_.join();
  // After an error its message begins a line of its own.
  if (open_ && terminal_ && ::write(settings_.descriptor, "\n", 1) < 0) return;
}

void ProgressLine::show(const ProgressState& state) {
  if (settings_.quiet) return;
  const std::lock_guard guard(lock_);
  state_ = state;
  if (thread_.joinable() || ended_) return;
  begin_ = Clock::now();
  first_ = state;
  write_line(false);
  thread_ = std::thread([this] { run(); });
}

void ProgressLine::finish() {
  const std::lock_guard guard(lock_);
  if (!thread_.joinable() || ended_) return;
  ended_ = true;
  ending_.notify_all();
  write_line(true);
}

void ProgressLine::run() {
  std::unique_lock guard(lock_);
  const auto interval = terminal_ ? settings_.terminal_interval : settings_.plain_interval;
  while (!ending_.wait_for(guard, interval, [&] { return ended_; })) write_line(false);
}

/// Called under the lock.
void ProgressLine::write_line(bool ended) {
  constexpr int kPlainWidth = 200;  // a log file has no width
  if (refresh_) refresh_(state_);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  const int width = terminal_ ? columns_of(settings_.descriptor) - 1 : kPlainWidth;
  std::string line = progress_text(state_, first_, seconds, width, ended);
  if (terminal_) line = "\r" + line + "\x1b[K";
  open_ = terminal_ && !ended;
  if (!open_) line += "\n";
  // A closed stderr is no reason to stop the work.
  if (::write(settings_.descriptor, line.data(), line.size()) < 0) return;
}

}  // namespace zoetrope
