// What AddressSanitizer and ThreadSanitizer must be told about fibers, and nothing in other builds.
// Under ThreadSanitizer (ZT_SIMT_TSAN) kernels are instrumented and the emulator is not: it reports by hand
// the accesses that it makes for a thread, and which meetings order memory: block barriers, __syncwarp,
// start, exit.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define ZT_SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ZT_SIMT_ASAN 1
#endif
#endif

#if defined(ZT_SIMT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(ZT_SIMT_TSAN)
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* object);
void __tsan_release(void* object);
void __tsan_ignore_thread_begin();
void __tsan_ignore_thread_end();
void __tsan_read1_pc(void* address, void* pc);
void __tsan_write1_pc(void* address, void* pc);
void __tsan_read16_pc(void* address, void* pc);
void __tsan_write16_pc(void* address, void* pc);
}
#endif

namespace simt::sanitizer {

#if defined(ZT_SIMT_ASAN)
inline constexpr bool kAddress = true;
inline void before_switch(void** fake_stack, const void* bottom, size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
}
inline void after_switch(void* fake_stack, const void** old_bottom, size_t* old_bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, old_bottom, old_bytes);
}
inline void poison(void* from, size_t bytes) { __asan_poison_memory_region(from, bytes); }
inline void unpoison(void* from, size_t bytes) { __asan_unpoison_memory_region(from, bytes); }
#else
inline constexpr bool kAddress = false;
inline void before_switch(void**, const void*, size_t) {}
inline void after_switch(void*, const void**, size_t*) {}
inline void poison(void*, size_t) {}
inline void unpoison(void*, size_t) {}
#endif

#if defined(ZT_SIMT_TSAN)
inline constexpr bool kThread = true;
inline void* this_fiber() { return __tsan_get_current_fiber(); }
inline void* create_fiber() { return __tsan_create_fiber(0); }
inline void destroy_fiber(void* fiber) { __tsan_destroy_fiber(fiber); }
/// Without order: only release() and acquire() make what one thread did visible to another.
inline void switch_fiber(void* fiber) { __tsan_switch_to_fiber(fiber, 1); }
/// While it lives, library calls of the emulator (memmove, ...) on what is its own are not the thread's.
struct Quiet {
  Quiet() { __tsan_ignore_thread_begin(); }
  ~Quiet() { __tsan_ignore_thread_end(); }
};
inline void acquire(void* object) { __tsan_acquire(object); }
inline void release(void* object) { __tsan_release(object); }
inline void read(const void* from, size_t bytes, void* pc) {
  auto* address = static_cast<char*>(const_cast<void*>(from));
  for (; bytes >= 16; bytes -= 16, address += 16) __tsan_read16_pc(address, pc);
  for (; bytes > 0; --bytes, ++address) __tsan_read1_pc(address, pc);
}
inline void write(void* to, size_t bytes, void* pc) {
  auto* address = static_cast<char*>(to);
  for (; bytes >= 16; bytes -= 16, address += 16) __tsan_write16_pc(address, pc);
  for (; bytes > 0; --bytes, ++address) __tsan_write1_pc(address, pc);
}
#else
inline constexpr bool kThread = false;
inline void* this_fiber() { return nullptr; }
inline void* create_fiber() { return nullptr; }
inline void destroy_fiber(void*) {}
inline void switch_fiber(void*) {}
struct Quiet {
  Quiet() {}
};
inline void acquire(void*) {}
inline void release(void*) {}
inline void read(const void*, size_t, void*) {}
inline void write(void*, size_t, void*) {}
#endif

}  // namespace simt::sanitizer
