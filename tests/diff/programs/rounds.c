// SPDX-License-Identifier: MIT
// Rounds as many as there are arguments: runs differ by what they are given.
static volatile unsigned sink;

static __attribute__((noinline)) void Round(unsigned n) {
  for (unsigned i = 0; i < n; ++i) sink += i;
}

static __attribute__((noinline)) void Fixed(void) {
  for (unsigned i = 0; i < 100; ++i) sink ^= i;
}

void Main(long *stack) {
  for (long i = 1; i < stack[0]; ++i) Round(50);
  Fixed();
  __asm__ volatile("syscall" : : "a"(231), "D"(0));
  __builtin_unreachable();
}

__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call Main\n");
