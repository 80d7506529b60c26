// SPDX-License-Identifier: MIT
// Makes code at run time and runs it.
#include "freestanding.h"

enum { kPage = 4096, kReadWrite = 3, kReadExecute = 5, kPrivateAnonymous = 0x22 };

long Main(long* stack) {
  (void)stack;
  // mov $7, %eax; 1: dec %eax; jnz 1b; mov $42, %eax; ret
  static const unsigned char kCode[] = {0xb8, 7,    0,  0, 0, 0xff, 0xc8, 0x75,
                                        0xfc, 0xb8, 42, 0, 0, 0,    0xc3};
  char* page = (char*)SystemCall6(kMmap, 0, kPage, kReadWrite, kPrivateAnonymous, -1, 0);
  for (unsigned i = 0; i < sizeof kCode; ++i) page[i] = (char)kCode[i];
  SystemCall(kMprotect, (long)page, kPage, kReadExecute);
  const long result = ((long (*)(void))page)();
  return result == 42 ? 0 : 1;
}
