// SPDX-License-Identifier: MIT
// A program without a library, which becomes another one at the same addresses.
static char *const words[] = {"./second", 0};
void _start(void) {
  for (volatile int i = 0; i < 9; ++i) continue;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(59), "D"(words[0]), "S"(words), "d"(words + 1)
                   : "rcx", "r11", "memory");
}
