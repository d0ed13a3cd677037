#include "core/log.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace zoetrope {
namespace {

std::string rank_prefix;

/// Length of the UTF-8 character at `at`; 0: there is none.
size_t utf8_length(const std::string& text, size_t at) {
  const uint8_t first = uint8_t(text[at]);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((uint8_t(text[at + i]) & 0xc0) != 0x80) return 0;
  return length;
}

/// Messages quote names and lines of files: bytes that would steer a terminal are shown as \xNN.
std::string printable(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const uint8_t c = uint8_t(text[at]);
    const size_t length = utf8_length(text, at);
    const bool is_control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ||
                            (length == 2 && c == 0xc2 && uint8_t(text[at + 1]) < 0xa0);  // C1 controls
    if (length > 0 && !is_control) {
      out.append(text, at, length);
      at += length;
      continue;
    }
    char escaped[5];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", c);
    out += escaped;
    ++at;
  }
  return out;
}

void write_line(const char* kind, const std::string& message) {
  const std::string line = kind + rank_prefix + printable(message) + "\n";
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
