// SPDX-License-Identifier: MIT
// A 64-bit process that runs 32-bit code for a while: far jumps change the mode.
        .globl _start
_start: mov $5, %ecx
1:      loop 1b
        ljmpl *to32(%rip)
        .code32
in32:   mov $5, %ecx
1:      inc %eax                // 0x40, a REX prefix in 64-bit code
        loop 1b
        ljmp $0x33, $in64
        .code64
in64:   mov $5, %ecx
1:      loop 1b
        mov $60, %eax
        xor %edi, %edi
        syscall
        ud2
        .data
to32:   .long in32
        .word 0x23
        .section .note.GNU-stack, "", @progbits
