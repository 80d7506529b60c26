// SPDX-License-Identifier: MIT
// A 32-bit program without a library, for another one to become.
static int __attribute__((noinline)) after(int value) { return value * 3; }

void _start(void) {
  const int status = after(2) != 6;
  __asm__ volatile("int $0x80" : : "a"(1), "b"(status));
}
