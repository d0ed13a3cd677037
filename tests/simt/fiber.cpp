#include "tests/simt/fiber.h"

#include <sys/mman.h>
#include <cstdint>
#include <new>

#include "tests/simt/sanitizer.h"

namespace simt {

#if defined(ZT_SIMT_UCONTEXT)

void make_context(Context& context, void* stack_bottom, void* stack_top, void (*entry)()) {
  getcontext(&context.registers);
  context.registers.uc_stack.ss_sp = stack_bottom;
  context.registers.uc_stack.ss_size =
      size_t(static_cast<char*>(stack_top) - static_cast<char*>(stack_bottom));
  context.registers.uc_link = nullptr;
  ::makecontext(&context.registers, entry, 0);
}

void switch_context(Context& from, Context& to) { swapcontext(&from.registers, &to.registers); }

#else

extern "C" void zt_simt_switch_stack(void** from, void* to);

// System V: rbx, rbp, r12 to r15 and rsp belong to the caller; all other registers may change in a call.
asm(R"(
  .text
  .p2align 4
  .globl zt_simt_switch_stack
  .type zt_simt_switch_stack, @function
zt_simt_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size zt_simt_switch_stack, .-zt_simt_switch_stack
)");

void make_context(Context& context, void*, void* stack_top, void (*entry)()) {
  // A function starts with rsp at 16 n + 8: the switch returns from the slot below a zero return address.
  const uintptr_t end = reinterpret_cast<uintptr_t>(stack_top) / 16 * 16;
  auto* slot = reinterpret_cast<void**>(end);
  *--slot = nullptr;
  *--slot = reinterpret_cast<void*>(entry);
  for (int saved = 0; saved < 6; ++saved) *--slot = nullptr;
  context.stack_pointer = slot;
}

void switch_context(Context& from, Context& to) {
  zt_simt_switch_stack(&from.stack_pointer, to.stack_pointer);
}

#endif

namespace {
constexpr size_t kPage = 4096;
constexpr size_t kStackBytes = sanitizer::kAddress || sanitizer::kThread ? 256 * 1024 : 64 * 1024;
constexpr int kMostStacks = 1024;  // threads of a block
constexpr size_t kStride = kStackBytes + kPage;
}  // namespace

size_t Stacks::bytes() { return kStackBytes; }

void Stacks::reserve(int count) {
  if (base_ == nullptr) {
    void* memory =
        mmap(nullptr, kMostStacks * kStride, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<char*>(memory);
  }
  for (; count_ < count; ++count_)
    if (mprotect(bottom(count_), kStackBytes, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
}

Stacks::~Stacks() {
  if (base_ != nullptr) munmap(base_, kMostStacks * kStride);
}

void* Stacks::bottom(int index) const { return base_ + size_t(index) * kStride + kPage; }

void* Stacks::top(int index) const {
  constexpr size_t kLine = 64, kSets = 64;  // of a 32 or 48 KiB first-level cache
  return static_cast<char*>(bottom(index)) + kStackBytes - size_t(index) * 7 % kSets * kLine;
}

}  // namespace simt
