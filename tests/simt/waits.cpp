// Who waits for whom: the search for waits that nobody can end any more.
#include <algorithm>
#include <set>

#include "tests/simt/runtime.h"

namespace simt::cuda {

/// Walks from a waiting host thread along everything that it needs. All needs must be met, so one circle, or
/// one host thread that has ended, is enough.
class CircleSearch {
 public:
  explicit CircleSearch(const Runtime& runtime) : runtime_(runtime) {}

  /// True when the thread waits in vain; `lines` then tells the way there.
  bool thread_in_vain(int thread) {
    if (std::count(runtime_.ended_.begin(), runtime_.ended_.end(), thread) > 0) {
      lines.push_back("that host thread has ended");
      return true;
    }
    const auto waiting = runtime_.waiting_.find(thread);
    if (waiting == runtime_.waiting_.end()) return false;  // it runs, and may issue what is missing
    if (!open_threads_.insert(thread).second) {
      lines.push_back("and so on (circular wait)");
      return true;
    }
    lines.push_back("the host of device " + std::to_string(waiting->second.device) +
                    " waits: " + waiting->second.what);
    for (const Position& target : waiting->second.targets)
      if (position_in_vain(target)) return true;
    lines.pop_back();
    open_threads_.erase(thread);
    return false;
  }

  std::vector<std::string> lines;

 private:
  bool position_in_vain(const Position& position) {
    if (position.reached() || position.stream->queue.empty()) return false;
    const CUstream_st& stream = *position.stream;
    const Operation& head = stream.queue.front();
    if (done_streams_.count(&stream) > 0) return false;
    if (!open_streams_.insert(&stream).second) {
      lines.push_back("'" + head.what + "' on " + stream.name + " again (circular wait)");
      return true;
    }
    const size_t depth = lines.size();
    lines.push_back(stream.name + " has come to '" + head.what + "'");
    for (const Position& wait : head.waits)
      if (position_in_vain(wait)) return true;
    if (head.meeting)
      for (const Need& need : head.meeting->needs()) {
        lines.push_back("  " + need.text);
        if (need.thread == kNever) return true;
        if (need.thread >= 0 ? thread_in_vain(need.thread) : position_in_vain(need.position)) return true;
        lines.pop_back();
      }
    lines.resize(depth);
    open_streams_.erase(&stream);
    done_streams_.insert(&stream);
    return false;
  }

  const Runtime& runtime_;
  std::set<int> open_threads_;
  std::set<const CUstream_st*> open_streams_, done_streams_;
};

std::string find_circle(const Runtime& runtime, int thread) {
  CircleSearch search(runtime);
  if (!search.thread_in_vain(thread)) return "";
  std::string text = "a wait that nobody can end:";
  for (const std::string& line : search.lines) text += "\n  " + line;
  return text;
}

}  // namespace simt::cuda
