// SPDX-License-Identifier: MIT
// A process without a C library: a few hundred instructions from its first to its exit.

static long SystemCall(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c)
                   : "rcx", "r11", "memory");
  return result;
}

enum { kWrite = 1, kExit = 60, kStandardOutput = 1 };

static long Double(long value) { return value * 2; }
static long Square(long value) { return value * value; }
static long Negate(long value) { return -value; }

// Called through pointers, so that the trace has indirect calls.
static long (*const volatile kOperations[])(long) = {Double, Square, Negate};

__attribute__((noinline)) static int CountPrimes(int limit) {
  int count = 0;
  for (int candidate = 2; candidate < limit; ++candidate) {
    int divisor = 2;
    while (divisor < candidate && candidate % divisor != 0) ++divisor;
    if (divisor == candidate) ++count;
  }
  return count;
}

// Called by the first instruction, see below.
__attribute__((used, noreturn)) static void Main(void) {
  long sum = CountPrimes(12);
  for (int i = 0; i < 6; ++i) sum += kOperations[i % 3](i);
  static const char kText[] = "tiny\n";
  SystemCall(kWrite, kStandardOutput, (long)kText, sizeof kText - 1);
  SystemCall(kExit, sum == 0, 0, 0);
  __builtin_unreachable();
}

__asm__(
    ".globl _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  and $-16, %rsp\n"
    "  call Main\n");
