#include "tools/measured_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/check.h"

namespace zoetrope {
namespace {

double seconds_of(const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); }

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// The child's side: no input, output away, errors to `errors`.
[[noreturn]] void exec_child(const std::vector<std::string>& command, int errors) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  execvp(words[0], words.data());
  std::fprintf(stderr, "can't start '%s': %s\n", words[0], std::strerror(errno));
  _exit(127);
}

std::string text_of(std::FILE* file) {
  std::string text;
  std::rewind(file);
  char buffer[4096];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, file)) text.append(buffer, n);
  return text.size() <= 2000 ? text : "..." + text.substr(text.size() - 2000);
}

}  // namespace

ProcessUse run_measured(const std::vector<std::string>& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> errors(std::tmpfile(), std::fclose);
  ZT_REQUIRE(errors != nullptr, "can't make a temporary file: ", std::strerror(errno));
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  ZT_REQUIRE(child >= 0, "can't start '", joined(command), "': ", std::strerror(errno));
  if (child == 0) exec_child(command, fileno(errors.get()));
  int status = 0;
  rusage use = {};
  pid_t ended;
  do ended = wait4(child, &status, 0, &use);
  while (ended < 0 && errno == EINTR);
  ZT_CHECK(ended == child, "wait4: ", std::strerror(errno));
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  ZT_REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "'", joined(command), "' ended with ",
             WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ": ", text_of(errors.get()));
  return {seconds_of(use.ru_utime), seconds_of(use.ru_stime), wall.count(), 1024.0 * double(use.ru_maxrss)};
}

std::string own_program() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  ZT_REQUIRE(length > 0, "can't read /proc/self/exe: ", std::strerror(errno));
  return std::string(path, size_t(length));
}

}  // namespace zoetrope
