// SPDX-License-Identifier: MIT
// Code made at run time at a place that is the same in every run: called, changed while nothing of
// it runs, changed by itself one instruction ahead, and changed in a loop. Ends with status 0.
#include "freestanding.h"

enum { kPage = 4096, kAll = 7, kFixedPrivateAnonymous = 0x32 };

typedef long (*Function)(long);

static unsigned char* const kPlace = (unsigned char*)0x10000000;

static void Put(unsigned long at, const unsigned char* code, unsigned long size) {
  for (unsigned long i = 0; i < size; ++i) kPlace[at + i] = code[i];
}

long Main(long* stack) {
  (void)stack;
  if (SystemCall6(kMmap, (long)kPlace, kPage, kAll, kFixedPrivateAnonymous, -1, 0) != (long)kPlace)
    return 1;
  const Function run = (Function)kPlace;
  // lea 5(%rdi), %rax; ret
  static const unsigned char kAdd[] = {0x48, 0x8d, 0x47, 5, 0xc3};
  Put(0, kAdd, sizeof kAdd);
  if (run(1) != 6) return 2;
  // Another value, then other instructions: mov %rdi, %rax; 1: dec %rax; jnz 1b; ret
  kPlace[3] = 9;
  if (run(1) != 10) return 3;
  static const unsigned char kLoop[] = {0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};
  Put(0, kLoop, sizeof kLoop);
  if (run(5) != 0) return 4;
  // Changes its own next instruction: movb $0xc0, 2f+2(%rip); 2: inc %eax (ff c0) was dec (ff c8).
  //   xor %eax,%eax; movb $0xc0, 1(%rip); dec %eax; ret
  static const unsigned char kSelf[] = {0x31, 0xc0, 0xc6, 0x05, 0x01, 0,
                                        0,    0,    0xc0, 0xff, 0xc8, 0xc3};
  for (int i = 0; i < 3; ++i) {
    Put(0, kSelf, sizeof kSelf);
    if ((int)run(0) != 1) return 5;
  }
  // A value that differs in every round.
  Put(0, kAdd, sizeof kAdd);
  for (unsigned char i = 0; i < 20; ++i) {
    kPlace[3] = i;
    if (run(1) != 1 + i) return 6;
  }
  return 0;
}
