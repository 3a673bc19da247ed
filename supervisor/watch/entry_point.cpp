// The program's entry point: blocks signals before anything else runs. Part of signals.h.
//
// The kernel throws away default-action signals for the init of a pid namespace until it blocks or
// handles them (pid_namespaces(7)), and a C library makes a dozen system calls before main: a
// SIGTERM in that window would be lost without a trace. So the mask is the first system call of the
// process, made before the C library starts; main gives it back where it does not belong.
// The program is linked with `-e warder_start`; elsewhere than on x86-64 main blocks, a little
// later.
#include "supervisor/watch/signals.h"

#if defined(__x86_64__)

extern "C" {
// Read and written before relocation, so both are reached relative to the instruction pointer.
// All but SIGILL 4, SIGTRAP 5, SIGABRT 6, SIGBUS 7, SIGFPE 8, SIGSEGV 11, SIGSYS 31.
__attribute__((visibility("hidden"), used)) unsigned long warder_blocked_signals = ~0x400004f8UL;
// SIGKILL is in no mask that a kernel gives out: with it, the entry point did not run.
__attribute__((visibility("hidden"), used)) unsigned long warder_inherited_signals = 0x100UL;
}

// Entered with the stack and %rdx as the kernel left them (System V ABI, x86-64, 3.4.1); both reach
// _start unchanged. rt_sigprocmask(SIG_SETMASK, blocked, inherited, 8); the kernel overwrites %rax,
// %rcx and %r11 only.
asm(R"(
.text
.globl warder_start
.type warder_start, @function
warder_start:
  movq %rdx, %r8
  movl $14, %eax
  movl $2, %edi
  leaq warder_blocked_signals(%rip), %rsi
  leaq warder_inherited_signals(%rip), %rdx
  movl $8, %r10d
  syscall
  # madvise(data, its size, MADV_POPULATE_WRITE): relocation writes all of these pages, and one
  # fault for each takes longer. A kernel that does not know it (before 5.14) says EINVAL.
  leaq __init_array_start(%rip), %rdi
  andq $-4096, %rdi
  leaq _edata(%rip), %rsi
  subq %rdi, %rsi
  movl $23, %edx
  movl $28, %eax
  syscall
  movq %r8, %rdx
  jmp _start
.size warder_start, . - warder_start
.weak _start
)");

namespace warder::watch {
std::uint64_t maskAtEntry() {
  return warder_inherited_signals;
}
}  // namespace warder::watch

#else

namespace warder::watch {
std::uint64_t maskAtEntry() {
  return 0x100;
}
}  // namespace warder::watch

#endif
