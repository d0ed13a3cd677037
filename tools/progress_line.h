// One line on stderr that says how far a long command is: rewritten on a terminal, a new line every ten
// seconds elsewhere. Used by ingest, merge and inspect --verify.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace zoetrope {

/// How far it is. What isn't known stays -1 and is not shown.
struct ProgressState {
  std::string what = "clips";            ///< what `done` counts
  int64_t done = 0, total = -1;          ///< items
  int64_t refused = -1;                  ///< of those done
  int64_t frames = -1;                   ///< worked on since the begin
  int64_t bytes = -1, total_bytes = -1;  ///< worked on since the begin; the time left follows from these
};

/// The line after `seconds`, `first` being the state at the begin; parts that don't fit into `width` columns
/// are left out, the least important ones first. `ended`: says how long it took instead of what is left.
std::string progress_text(const ProgressState& state, const ProgressState& first, double seconds, int width,
                          bool ended = false);

/// Shows states, from the first on; a thread of its own, so that one slow item doesn't stop it.
class ProgressLine {
 public:
  struct Settings {
    bool quiet = false;
    int descriptor = STDERR_FILENO;
    std::chrono::milliseconds plain_interval{10'000}, terminal_interval{200};
  };
  /// Brings the last shown state up to date before a line; called on another thread.
  using Refresh = std::function<void(ProgressState&)>;

  explicit ProgressLine(bool quiet, Refresh refresh = {});
  ProgressLine(const Settings& settings, Refresh refresh);
  ~ProgressLine();  ///< ends the line if it is still open
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// The first call writes at once.
  void show(const ProgressState& state);
  /// Writes the last line, if there was a first one.
  void finish();

 private:
  void write_line(bool ended);
  void run();

  const Settings settings_;
  const Refresh refresh_;
  const bool terminal_;
  std::mutex lock_;
  std::condition_variable ending_;
  std::thread thread_;
  bool open_ = false, ended_ = false;
  std::chrono::steady_clock::time_point begin_;
  ProgressState first_, state_;
};

}  // namespace zoetrope
