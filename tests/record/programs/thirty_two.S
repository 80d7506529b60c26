// SPDX-License-Identifier: MIT
// A 32-bit process: calls, returns, loops, system calls by int 0x80.
        .globl _start
_start: mov $20, %ecx
1:      call 2f
        loop 1b
        mov $1f, %eax
        jmp *%eax
        ud2
1:      inc %ecx
        jcxz 1b
        mov $20, %eax           // getpid
        int $0x80
        mov $1, %eax            // exit
        xor %ebx, %ebx
        int $0x80
        ud2
2:      push %ebp
        mov %esp, %ebp
        leave
        ret
        .section .note.GNU-stack, "", @progbits
