// SPDX-License-Identifier: MIT
// rep string instructions: many iterations, none, ended by their condition, across a fault.
#include "freestanding.h"

char from[200], to[200];  // named by the assembly

static void OnFault(int signal, void* info, void* context) {
  (void)signal;
  (void)info;
  *InterruptedIp(context) += 2;  // the length of rep stosb
}

long Main(long* stack) {
  (void)stack;
  __asm__ volatile(
      "  lea from(%%rip), %%rdi\n  mov $'x', %%eax\n  mov $150, %%ecx\n  rep stosb\n"
      "  lea from(%%rip), %%rsi\n  lea to(%%rip), %%rdi\n  mov $25, %%ecx\n  rep movsq\n"
      "  xor %%ecx, %%ecx\n  rep movsb\n"
      "  mov $1, %%ecx\n  rep stosb\n"
      "  lea from(%%rip), %%rdi\n  xor %%eax, %%eax\n  mov $200, %%ecx\n  repne scasb\n"
      "  lea from(%%rip), %%rsi\n  lea to(%%rip), %%rdi\n  mov $50, %%ecx\n  repe cmpsb\n"
      "  movsb\n"
      :
      :
      : "rax", "rcx", "rsi", "rdi", "cc", "memory");
  // Runs into an unmapped page after 16 bytes.
  Handle(kSigSegv, OnFault, kSaSiginfo);
  enum { kPage = 4096 };
  char* pages = (char*)SystemCall6(kMmap, 0, 2 * kPage, 3, 0x22, -1, 0);
  SystemCall(kMunmap, (long)(pages + kPage), kPage, 0);
  char* end = pages + kPage - 16;
  long count = 64;
  __asm__ volatile("rep stosb" : "+D"(end), "+c"(count) : "a"(1) : "memory");
  return count == 48 ? to[0] != 'x' : 1;
}
