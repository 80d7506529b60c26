// SPDX-License-Identifier: MIT
// Dies of a signal in the way that its first argument's first letter says.
#include "freestanding.h"

enum { kPage = 4096, kReadWrite = 3, kPrivateAnonymous = 0x22 };

// A block that jumps to itself and begins with the access.
static void Scan(const char* text) {
  __asm__ volatile(
      "1:\n"
      "  mov (%0), %%al\n"
      "  inc %0\n"
      "  test %%al, %%al\n"
      "  jnz 1b\n"
      : "+r"(text)
      :
      : "rax", "memory");
}

static char* PageOfOnes(void) {
  char* page = (char*)SystemCall6(kMmap, 0, 2 * kPage, kReadWrite, kPrivateAnonymous, -1, 0);
  SystemCall(kMunmap, (long)page + kPage, kPage, 0);
  for (int i = 0; i < kPage; ++i) page[i] = 1;
  return page;
}

static void Fill(char* to) {
  long count = 3L * kPage;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(1) : "memory");
}

static void DivideByZero(void) {
  __asm__ volatile("xor %%ecx, %%ecx\n  div %%ecx\n" : : : "rax", "rcx", "rdx");
}

// Interrupted at any of its instructions.
static void RunUntilAlarm(void) {
  SetAlarm(20000);
  for (volatile long i = 0;; ++i)
    if (i % 3 == 1) SystemCall(kGetpid, 0, 0, 0);
}

static char worker_stack[16384] __attribute__((aligned(16)));

__attribute__((noreturn)) static void Work(long address) {
  Scan((const char*)address);
  __builtin_unreachable();
}

long Main(long* stack) {
  const char* how = (const char*)stack[2];
  if (*how == 's') Scan((const char*)8);
  if (*how == 'm') Scan(PageOfOnes() + kPage - 100);
  if (*how == 'r') Fill(PageOfOnes());
  if (*how == 'j') ((void (*)(void))0x1234567890)();
  if (*how == 'd') DivideByZero();
  if (*how == 'u') __asm__ volatile("ud2");
  if (*how == 'p') __asm__ volatile("nop\n  hlt");
  if (*how == 't') __asm__ volatile("int3");
  if (*how == 'k') SystemCall(kKill, SystemCall(kGetpid, 0, 0, 0), kSigSegv, 0);
  if (*how == 'w') {
    StartThread(Work, worker_stack + sizeof worker_stack, 8, 0);
    SystemCall(kPause, 0, 0, 0);
  }
  if (*how == 'a') RunUntilAlarm();
  return 0;
}
