// Counts what ThreadSanitizer reports, for tests that plant races: one source of a test includes it. Without
// ThreadSanitizer there are none.
#pragma once

namespace simt {
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kSeesRaces = true;
inline int num_races = 0;
#else
inline constexpr bool kSeesRaces = false;
inline constexpr int num_races = 0;
#endif
}  // namespace simt

#if defined(__SANITIZE_THREAD__)
/// Reports alone are no failure of the test, and nobody reads their lines.
extern "C" const char* __tsan_default_options() { return "exitcode=0:symbolize=0"; }
extern "C" void __tsan_on_report(void*) { ++simt::num_races; }
#endif
