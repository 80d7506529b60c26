// SPDX-License-Identifier: MIT
// What bare_becomes.c becomes: other code.
void _start(void) {
  __asm__ volatile(".rept 99; inc %%rbx; .endr" : : : "rbx");
  __asm__ volatile("syscall" : : "a"(60), "D"(0));
}
