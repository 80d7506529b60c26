// SPDX-License-Identifier: MIT
// Every kind of branch there is in 64-bit user code, and calls deeper than any return stack.
#include "bare.h"

static volatile long sink;

__attribute__((noinline)) static long Leaf(long value) {
  sink += value;
  return value * 3;
}

// Deeper than the 64 entries of a processor's return stack, twice over.
__attribute__((noinline)) static long Deep(long depth) {
  if (depth == 0) return Leaf(1);
  const long below = Deep(depth - 1);
  return depth % 3 == 0 ? Leaf(below) : below + 1;
}

static long Odd(long count);
__attribute__((noinline)) static long Even(long count) { return count == 0 ? 1 : Odd(count - 1); }
__attribute__((noinline)) static long Odd(long count) { return count == 0 ? 0 : Even(count - 1); }

static long Twice(long value) { return value * 2; }
static long Minus(long value) { return -value; }
static long (*volatile operations[])(long) = {Leaf, Twice, Minus};

__attribute__((noinline)) static void IndirectBranches(void) {
  for (int i = 0; i < 30; ++i) sink += operations[i % 3](i);
  // A jump table, a jump through memory, and one through a register.
  for (long i = 0; i < 8; ++i)
    __asm__ volatile(
        "  lea 9f(%%rip), %%rax\n"
        "  mov %[i], %%rcx\n"
        "  and $3, %%ecx\n"
        "  movslq (%%rax,%%rcx,4), %%rdx\n"
        "  add %%rax, %%rdx\n"
        "  jmp *%%rdx\n"
        "9:\n"
        "  .long 1f - 9b, 2f - 9b, 3f - 9b, 4f - 9b\n"
        "1: nop\n"
        "2: push %%rbx\n"
        "   pop %%rbx\n"
        "3: lea 4f(%%rip), %%rdx\n"
        "   mov %%rdx, -16(%%rsp)\n"
        "   jmp *-16(%%rsp)\n"
        "4:\n"
        :
        : [i] "r"(i)
        : "rax", "rcx", "rdx", "memory", "cc");
}

// Returns to elsewhere: a pushed address, a call only to learn one's own address, a changed one.
__attribute__((noinline)) static void UnpairedReturns(void) {
  __asm__ volatile(
      "  lea 1f(%%rip), %%rax\n"
      "  push %%rax\n"
      "  ret\n"
      "1: call 2f\n"
      "2: pop %%rax\n"
      "  call 3f\n"
      "  ud2\n"  // skipped
      "  jmp 4f\n"
      "3: addq $2, (%%rsp)\n"
      "  ret\n"
      "4: lea 5f(%%rip), %%rax\n"
      "  pushq $0\n"
      "  push %%rax\n"
      "  ret $8\n"
      "5: nop\n"
      :
      :
      : "rax", "memory", "cc");
}

// LOOP and its kin, JRCXZ, and every condition both ways.
__attribute__((noinline)) static void Conditions(void) {
  __asm__ volatile(
      "  mov $5, %%ecx\n"
      "1: nop\n"
      "  loop 1b\n"
      "  mov $5, %%ecx\n"
      "2: cmp $3, %%ecx\n"
      "  loopne 2b\n"
      "  mov $5, %%ecx\n"
      "3: cmp %%ecx, %%ecx\n"
      "  loope 3b\n"
      "  xor %%ecx, %%ecx\n"
      "  jrcxz 4f\n"
      "  ud2\n"
      "4: mov $1, %%ecx\n"
      "  jrcxz 5f\n"
      "  nop\n"
      "5:\n"
      :
      :
      : "rcx", "cc", "memory");
  for (long flags = 0; flags < 5; ++flags) {
    // Carry, parity, zero, sign, overflow: bits 0, 2, 6, 7, 11.
    static const long kBits[] = {0x1, 0x4, 0x40, 0x80, 0x800};
#define TRY(condition) \
  "  push %[bits]\n"   \
  "  popf\n"           \
  "  " condition       \
  " 1f\n"              \
  "  incq %[sink]\n"   \
  "1:\n"
    __asm__ volatile(TRY("jo") TRY("jno") TRY("jb") TRY("jae") TRY("je") TRY("jne") TRY("jbe")
                         TRY("ja") TRY("js") TRY("jns") TRY("jp") TRY("jnp") TRY("jl") TRY("jge")
                             TRY("jle") TRY("jg")
                     : [sink] "+m"(sink)
                     : [bits] "r"(kBits[flags] | 2)
                     : "cc", "memory");
  }
}

__attribute__((noinline)) static void Strings(void) {
  static char from[200], to[200];
  __asm__ volatile(
      "  lea %[from], %%rdi\n"
      "  mov $7, %%eax\n"
      "  mov $200, %%ecx\n"
      "  rep stosb\n"
      "  lea %[from], %%rsi\n"
      "  lea %[to], %%rdi\n"
      "  mov $25, %%ecx\n"
      "  rep movsq\n"
      "  lea %[from], %%rsi\n"
      "  lea %[to], %%rdi\n"
      "  mov $200, %%ecx\n"
      "  repe cmpsb\n"
      "  lea %[to], %%rdi\n"
      "  mov $200, %%ecx\n"
      "  xor %%eax, %%eax\n"
      "  repne scasb\n"
      "  xor %%ecx, %%ecx\n"
      "  rep stosb\n"  // none
      "  mov $1, %%ecx\n"
      "  lea %[to], %%rdi\n"
      "  rep stosb\n"
      : [from] "+m"(from), [to] "+m"(to)
      :
      : "rax", "rcx", "rsi", "rdi", "memory", "cc");
}

long Main(long* stack) {
  (void)stack;
  sink += Deep(150);
  sink += Even(9);
  IndirectBranches();
  UnpairedReturns();
  Conditions();
  Strings();
  sink += Deep(63) + Deep(64) + Deep(65);
  Print("branches\n");
  return 0;
}
