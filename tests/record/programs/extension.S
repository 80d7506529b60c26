// SPDX-License-Identifier: MIT
// An instruction of AVX-512. With ASKS the program asks the processor first, as one does that has
// another way; then it never comes to the instruction.
        .globl _start
        .text
_start:
#ifdef ASKS
        xor     %eax, %eax
        cpuid
        jmp     1f
#endif
        vpxorq  %zmm0, %zmm0, %zmm0
1:      mov     $60, %eax
        xor     %edi, %edi
        syscall
