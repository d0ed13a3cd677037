#include "tests/support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "core/check.h"

namespace zoetrope::testing_support {

Process::Process(const std::vector<std::string>& command) {
  output_ = memfd_create("output", MFD_CLOEXEC);
  ZT_CHECK(output_ >= 0, "memfd_create failed");
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  ZT_CHECK(pid_ >= 0, "fork failed");
  if (pid_ == 0) {
    setpgid(0, 0);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(output_, STDOUT_FILENO);
    dup2(output_, STDERR_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  setpgid(pid_, pid_);
}

Process::~Process() {
  if (!ended_) {
    signal_group(SIGKILL);
    waitpid(pid_, &status_, 0);
  }
  close(output_);
}

void Process::signal_group(int signal) const { kill(-pid_, signal); }
void Process::signal_leader(int signal) const { kill(pid_, signal); }

bool Process::wait_for(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!ended_) {
    if (wait4(pid_, &status_, WNOHANG, &usage_) == pid_) {
      ended_ = true;
    } else if (std::chrono::steady_clock::now() >= end) {
      return false;
    } else {
      usleep(1000);
    }
  }
  return true;
}

Finished Process::wait() {
  while (!ended_) {
    if (wait4(pid_, &status_, 0, &usage_) == pid_) ended_ = true;
    else ZT_CHECK(errno == EINTR, "wait4 failed");
  }
  const auto seconds = [](const timeval& time) { return double(time.tv_sec) + double(time.tv_usec) / 1e6; };
  return {WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_), output(),
          seconds(usage_.ru_utime) + seconds(usage_.ru_stime), int64_t(usage_.ru_maxrss)};
}

std::string Process::output() const {
  std::string text;
  char buffer[4096];
  for (off_t at = 0;;) {
    const ssize_t n = pread(output_, buffer, sizeof buffer, at);
    if (n <= 0) return text;
    text.append(buffer, size_t(n));
    at += n;
  }
}

Finished run_process(const std::vector<std::string>& command) { return Process(command).wait(); }

std::string printed_json(const Finished& finished) {
  const std::string& text = finished.output;
  for (size_t line = 0; line < text.size(); line = text.find('\n', line) + 1) {
    if (text[line] == '{' || text[line] == '[') return text.substr(line);
    if (text.find('\n', line) == std::string::npos) break;
  }
  return text;  // what the parser then complains about
}

}  // namespace zoetrope::testing_support
