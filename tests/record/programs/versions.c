// SPDX-License-Identifier: MIT
// Makes code at run time, runs it, and makes other code in its place.
#include "freestanding.h"

enum {
  kPage = 4096,
  kReadWrite = 3,
  kReadExecute = 5,
  kReadWriteExecute = 7,
  kFixedPrivateAnonymous = 0x32
};

typedef long (*Function)(void);

// At the same address in each run.
static char* NewPage(long address, int protection) {
  return (char*)SystemCall6(kMmap, address, kPage, protection, kFixedPrivateAnonymous, -1, 0);
}

// mov $7, %eax; `nops` nops; 1: dec %eax; jnz 1b; mov $42, %eax; ret
static void Write(char* to, unsigned nops) {
  static const unsigned char kBegin[] = {0xb8, 7, 0, 0, 0};
  static const unsigned char kEnd[] = {0xff, 0xc8, 0x75, 0xfc, 0xb8, 42, 0, 0, 0, 0xc3};
  for (unsigned i = 0; i < sizeof kBegin; ++i) *to++ = (char)kBegin[i];
  for (unsigned i = 0; i < nops; ++i) *to++ = (char)0x90;
  for (unsigned i = 0; i < sizeof kEnd; ++i) *to++ = (char)kEnd[i];
}

__attribute__((noinline)) static long Patched(void) {
  long result = 0;
  __asm__ volatile(
      "  lea 1f(%%rip), %%rcx\n"
      "  movb $4, 1(%%rcx)\n"  // `jmp 2f` becomes `jmp 3f`
      "1:\n"
      "  jmp 2f\n"
      "2:\n"
      "  inc %0\n"
      "  nop\n"
      "3:\n"
      : "+a"(result)
      :
      : "rcx", "memory");
  return result;
}

long Main(long* stack) {
  (void)stack;
  long wrong = 0;
  // Made known to the kernel each time.
  char* page = NewPage(0x10000000, kReadWrite);
  for (unsigned i = 0; i < 4; ++i) {
    SystemCall(kMprotect, (long)page, kPage, kReadWrite);
    Write(page, i);
    SystemCall(kMprotect, (long)page, kPage, kReadExecute);
    wrong += ((Function)page)() != 42;
    wrong += ((Function)page)() != 42;
  }
  // Without the kernel's knowledge; more and more of the page.
  char* open = NewPage(0x20000000, kReadWriteExecute);
  for (unsigned i = 0; i < 20; ++i) {
    Write(open + i % 7 * 64, i);
    for (unsigned k = 0; k <= i && k < 7; ++k) wrong += ((Function)(open + k * 64))() != 42;
  }
  // The program's own text, which is in a file.
  char* text = (char*)((long)Patched / kPage * kPage);
  SystemCall(kMprotect, (long)text, 2L * kPage, kReadWriteExecute);
  wrong += Patched() != 0;
  wrong += Patched() != 0;
  return wrong;
}
