// SPDX-License-Identifier: MIT
// With an argument, lines execute around one that executes anyway, and around one that never does.
static volatile unsigned sink;

void Main(long *stack) {
  if (stack[0] > 1)
    sink += 1;

  sink ^= 5;
  if (stack[0] > 1)
    sink += 2;
  if (stack[0] > 1) {
    sink += 3;
    // A comment is no code.

    sink += 4;
    if (sink == 0)
      sink += 5;
    sink += 6;
  }
  __asm__ volatile("syscall" : : "a"(231), "D"(0));
  __builtin_unreachable();
}

__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call Main\n");
