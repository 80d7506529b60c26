// SPDX-License-Identifier: MIT
// A 32-bit process that makes a system call through its vDSO.
        .globl _start
_start: mov (%esp), %ecx
        lea 8(%esp,%ecx,4), %esi        // the environment
1:      lodsl
        test %eax, %eax
        jnz 1b
2:      lodsl                           // the auxiliary vector
        mov (%esi), %ebx
        add $4, %esi
        test %eax, %eax
        jz 3f
        cmp $32, %eax                   // AT_SYSINFO
        jne 2b
        mov $20, %eax                   // getpid
        call *%ebx
3:      mov $1, %eax                    // exit
        xor %ebx, %ebx
        int $0x80
        ud2
        .section .note.GNU-stack, "", @progbits
