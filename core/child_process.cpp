#include "core/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/check.h"

namespace zoetrope {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// The child's side. Its parent may be gone already, of which no signal would come any more.
[[noreturn]] void exec_child(char* const* words, int output, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execvp(words[0], words);
  dprintf(STDERR_FILENO, "can't start '%s': %s\n", words[0], std::strerror(errno));
  _exit(127);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command)
    : begin_(std::chrono::steady_clock::now()), output_(memfd_create("output", MFD_CLOEXEC)) {
  ZT_REQUIRE(output_ >= 0, "can't make a place for a command's output: ", std::strerror(errno));
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) exec_child(words.data(), output_, parent);
  const int error = errno;
  if (pid_ < 0) close(output_);
  ZT_REQUIRE(pid_ > 0, "can't start '", joined(command), "': ", std::strerror(error));
  setpgid(pid_, pid_);
}

ChildProcess::~ChildProcess() {
  if (!ended_) {
    signal_group(SIGKILL);
    waitpid(pid_, &status_, 0);
  }
  close(output_);
}

void ChildProcess::signal_group(int signal) const { kill(-pid_, signal); }
void ChildProcess::signal_leader(int signal) const { kill(pid_, signal); }

void ChildProcess::note_end(pid_t returned) {
  if (returned != pid_) return;
  ended_ = true;
  wall_ = std::chrono::steady_clock::now() - begin_;
}

bool ChildProcess::wait_for(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (!ended_) note_end(wait4(pid_, &status_, WNOHANG, &usage_));
    if (ended_ || std::chrono::steady_clock::now() >= end) return ended_;
    usleep(1000);
  }
}

Finished ChildProcess::wait() {
  while (!ended_) {
    note_end(wait4(pid_, &status_, 0, &usage_));
    ZT_CHECK(ended_ || errno == EINTR, "wait4: ", std::strerror(errno));
  }
  const auto seconds = [](const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
  return {WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_),
          output(),
          seconds(usage_.ru_utime),
          seconds(usage_.ru_stime),
          wall_.count(),
          int64_t(usage_.ru_maxrss) << 10};
}

std::string ChildProcess::output() const {
  std::string text;
  char buffer[4096];
  for (off_t at = 0;;) {
    const ssize_t n = pread(output_, buffer, sizeof buffer, at);
    if (n <= 0) return text;
    text.append(buffer, size_t(n));
    at += n;
  }
}

Finished run_process(const std::vector<std::string>& command) { return ChildProcess(command).wait(); }

Finished run_successfully(const std::vector<std::string>& command) {
  constexpr size_t kMostText = 2000;
  Finished finished = run_process(command);
  const std::string& text = finished.output;
  ZT_REQUIRE(finished.exit_code == 0, "'", joined(command), "' ended with ", finished.exit_code, ": ",
             text.size() <= kMostText ? text : "..." + text.substr(text.size() - kMostText));
  return finished;
}

std::string own_program() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  ZT_REQUIRE(length > 0, "can't read /proc/self/exe: ", std::strerror(errno));
  return std::string(path, size_t(length));
}

}  // namespace zoetrope
