// SPDX-License-Identifier: MIT
// Reserves addresses, which takes no memory: a few, as any program does, then as a sanitizer does.
// Returns how many reservations failed.
#include "freestanding.h"

static long Reserve(unsigned long size) {
  enum { kPrivateAnonymous = 0x22, kNoReserve = 0x4000 };
  const long at = SystemCall6(kMmap, 0, (long)size, 0, kPrivateAnonymous | kNoReserve, -1, 0);
  return at < 0 && at > -4096;
}

long Main(long* stack) {
  (void)stack;
  const unsigned long gigabyte = 1ul << 30;
  return Reserve(4 * gigabyte) + Reserve(16384 * gigabyte);
}
