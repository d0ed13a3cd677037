#include "tests/simt/fault_handler.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

#include "tests/simt/simt.h"

namespace simt::cuda {
namespace {

// Only what a signal handler may read: fixed places, no locks.
struct Watched {
  std::atomic<bool> used{false};
  Allocation allocation;
};
std::array<Watched, 16384> watched;
thread_local char running_operation[128] = "";
struct sigaction previous;

void say(const char* text, int length) {
  if (length > 0 && write(STDERR_FILENO, text, size_t(length)) < 0) return;
}

void explain(const Allocation& a, const char* address) {
  char text[512];
  const long byte = long(address - a.begin);
  if (running_operation[0] == 0)
    say(text,
        std::snprintf(text, sizeof text,
                      "simt: host code touched device memory: address %p is byte %ld of device allocation "
                      "#%ld (%zu bytes on device %d); copy it with cudaMemcpy\n",
                      static_cast<const void*>(address), byte, long(a.number), a.bytes, a.device));
  else
    say(text,
        std::snprintf(
            text, sizeof text,
            "simt: '%s' left its memory: address %p is byte %ld of device allocation #%ld (%zu bytes "
            "on device %d)\n",
            running_operation, static_cast<const void*>(address), byte, long(a.number), a.bytes, a.device));
}

void on_fault(int, siginfo_t* info, void*) {
  const char* address = static_cast<const char*>(info->si_addr);
  for (const Watched& w : watched)
    if (w.used && address >= w.allocation.map && address < w.allocation.map + w.allocation.map_bytes)
      explain(w.allocation, address);
  if (running_operation[0] != 0) {
    const std::string thread = simt::running_thread();  // a kernel's access: nobody is inside of malloc
    say(thread.c_str(), int(thread.size()));
    say("\n", 1);
  }
  sigaction(SIGSEGV, &previous, nullptr);  // the access is tried again, and ends the program
}

}  // namespace

void watch_faults(const Allocation& allocation) {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &previous);
  });
  for (Watched& w : watched)
    if (!w.used) {
      w.allocation = allocation;
      w.used = true;
      return;
    }
}

void forget_faults(const Allocation& allocation) {
  for (Watched& w : watched)
    if (w.used && w.allocation.begin == allocation.begin) w.used = false;
}

void set_running_operation(const char* name) {
  std::snprintf(running_operation, sizeof running_operation, "%s", name ? name : "");
}

}  // namespace simt::cuda
