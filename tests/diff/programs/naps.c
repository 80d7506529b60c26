// SPDX-License-Identifier: MIT
// A thread that waits at a futex for a millisecond, as often as there are arguments.
struct Span {
  long seconds;
  long nanoseconds;
};

static int word;

static long Call(long number, long a, long b, long c, const struct Span *span) {
  register const struct Span *fourth __asm__("r10") = span;
  __asm__ volatile("syscall"
                   : "+a"(number)
                   : "D"(a), "S"(b), "d"(c), "r"(fourth)
                   : "rcx", "r11", "memory");
  return number;
}

static __attribute__((noinline)) void Nap(void) {
  const struct Span span = {0, 1000000};
  Call(202, (long)&word, 0, 0, &span);
}

static __attribute__((noinline)) void LastNap(void) {
  const struct Span span = {0, 1000000};
  Call(202, (long)&word, 0, 0, &span);
}

void Main(long *stack) {
  for (long i = 1; i < stack[0]; ++i) Nap();
  if (stack[0] > 2) LastNap();
  Call(231, 0, 0, 0, 0);
  __builtin_unreachable();
}

__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call Main\n");
