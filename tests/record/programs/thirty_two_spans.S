// SPDX-License-Identifier: MIT
// A 32-bit process of functions whose instructions can be counted: the last one, INT 80h, counts
// for none, because Intel PT reports it by its address like a fault.
        .globl _start, first, second, last
_start: xor %ecx, %ecx
        call first
        call second
        call last
        ud2
        .type first, @function
first:  inc %ecx
        ret
        .type second, @function
second: mov $3, %edx
1:      dec %edx
        jnz 1b
        ret
        .type last, @function
last:   mov $1, %eax            // exit
        xor %ebx, %ebx
        int $0x80
        ud2
        .section .note.GNU-stack, "", @progbits
