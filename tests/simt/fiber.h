// Stacks that a thread can change between: a hand-written switch on x86-64, ucontext elsewhere (30 times
// slower: its switch calls the system).
#pragma once

#include <cstddef>

#if !defined(__x86_64__) && !defined(ZT_SIMT_UCONTEXT)
#define ZT_SIMT_UCONTEXT 1
#endif
#if defined(ZT_SIMT_UCONTEXT)
#include <ucontext.h>
#endif

namespace simt {

#if defined(ZT_SIMT_UCONTEXT)
struct Context {
  ucontext_t registers;
};
#else
struct Context {
  void* stack_pointer = nullptr;
};
#endif

/// Makes a context that starts in `entry`, which must never return, on the stack that ends at `stack_top`.
void make_context(Context& context, void* stack_bottom, void* stack_top, void (*entry)());
/// Saves where the caller is in `from` and continues at `to`.
void switch_context(Context& from, Context& to);

/// One stack for each thread of a block, kept from launch to launch. A guard page lies below each.
class Stacks {
 public:
  ~Stacks();
  /// Makes stacks 0 to count - 1 exist.
  void reserve(int count);
  void* bottom(int index) const;
  /// The top, shifted so that equal frames of different threads fall into different cache sets.
  void* top(int index) const;
  static size_t bytes();

 private:
  char* base_ = nullptr;
  int count_ = 0;
};

}  // namespace simt
