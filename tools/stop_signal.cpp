#include "tools/stop_signal.h"

#include <signal.h>

#include <atomic>

namespace zoetrope {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler must not lock");
constexpr int kSignals[] = {SIGTERM, SIGINT, SIGUSR1};

void request_stop(int signal_number) {
  if (signal_number == SIGINT && stop_requested.load()) {
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
  }
  stop_requested.store(true);
}

}  // namespace

StopSignal::StopSignal() {
  struct sigaction action = {};
  action.sa_handler = request_stop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : kSignals) sigaction(number, &action, nullptr);
}

/// SIGUSR1 stays harmless: the launcher repeats it until the run has ended.
StopSignal::~StopSignal() {
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGUSR1, SIG_IGN);
}

bool StopSignal::raised() const { return stop_requested.load(); }

}  // namespace zoetrope
