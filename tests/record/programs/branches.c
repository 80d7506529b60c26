// SPDX-License-Identifier: MIT
// Every form of branch that user code has, and instructions that look like one.
#include "freestanding.h"

long Main(long* stack) {
  (void)stack;
  long calls = 0;
  __asm__ volatile(
      // Conditional branches: short and near, taken and not, all conditions of LOOP and JRCXZ.
      "  mov $5, %%ecx\n"
      "1: loop 1b\n"
      "  mov $3, %%ecx\n"
      "  xor %%eax, %%eax\n"
      "1: loope 1b\n"
      "  mov $3, %%ecx\n"
      "  or $1, %%eax\n"
      "1: loopne 1b\n"
      "  jrcxz 1f\n"
      "1: mov $1, %%ecx\n"
      "  jrcxz 1f\n"
      "1: jecxz 1f\n"
      "1: cmp $0, %%rcx\n"
      "  .byte 0x0f, 0x85\n  .long 0\n"  // near jne to the next instruction, taken
      "  .byte 0x74, 0x00\n"             // je to the next instruction, not taken
      "  .byte 0x3e\n  jne 1f\n"         // with a branch hint
      "  ud2\n"
      "1: cmp $2, %%rcx\n  jl 1f\n  ud2\n1: jge 1f\n1: jp 1f\n1: jo 1f\n1: js 1f\n1: ja 1f\n1:\n"
      // Direct jumps, short and near; an indirect one through a register and through memory.
      "  jmp 1f\n  ud2\n"
      "1: .byte 0xe9\n  .long 2\n  ud2\n"
      "  lea 1f(%%rip), %%rax\n  jmp *%%rax\n  ud2\n"
      "1: lea 1f(%%rip), %%rax\n  push %%rax\n  jmp *(%%rsp)\n  ud2\n"
      "1: pop %%rax\n"
      // Calls: direct, indirect, to the next instruction (which is not pushed), notrack and BND.
      "  call 7f\n"
      "  lea 7f(%%rip), %%rax\n  call *%%rax\n"
      "  .byte 0x3e\n  call *%%rax\n"
      "  .byte 0xf2\n  call 7f\n"
      "  call 1f\n1: pop %%rax\n"
      // A return without its call, and calls that never return.
      "  lea 1f(%%rip), %%rax\n  push %%rax\n  ret\n  ud2\n"
      "1: call 1f\n  ud2\n1: call 1f\n  ud2\n1: add $16, %%rsp\n"
      // The return address changed by the callee.
      "  call 6f\n  ud2\n"
      // Flags pushed and popped: the recorder's trap flag must not show.
      "1: pushfq\n  pop %%rax\n  test $0x100, %%eax\n  jz 1f\n  mov $100, %[calls]\n"
      "1: pushfq\n  popfq\n"
      "  cpuid\n  rdtsc\n  endbr64\n  pause\n"
      "  jmp 9f\n"
      "6: lea 1b(%%rip), %%rax\n  mov %%rax, (%%rsp)\n  ret\n"
      "7: add $1, %[calls]\n  rep ret\n"
      "9:\n"
      : [calls] "+r"(calls)
      :
      : "rax", "rbx", "rcx", "rdx", "cc", "memory");
  return calls == 4 ? 0 : 1;
}
