#include "core/log.h"

#include <unistd.h>

namespace zoetrope {
namespace {

std::string rank_prefix;

void write_line(const char* kind, const std::string& message) {
  const std::string line = kind + rank_prefix + message + "\n";
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t n = write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (n <= 0) return;  // nowhere left to complain
    done += size_t(n);
  }
}

}  // namespace

void set_log_rank(int rank, int num_ranks) {
  rank_prefix = num_ranks > 1 ? "rank " + std::to_string(rank) + ": " : "";
}
void log_error(const std::string& message) { write_line("error: ", message); }
void log_warning(const std::string& message) { write_line("warning: ", message); }
void log_info(const std::string& message) { write_line("", message); }

}  // namespace zoetrope
