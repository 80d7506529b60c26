// SPDX-License-Identifier: MIT
// Executes exactly 23 instructions: the test counts them by hand.
        .globl _start
_start: mov $3, %ecx            // 1
1:      call 2f                 // 3
        dec %ecx                // 3
        jnz 1b                  // 3
        xor %ecx, %ecx          // 1
        lea text(%rip), %rsi    // 1
        mov $4, %ecx            // 1
        rep lodsb               // 1, four iterations
        mov $60, %eax           // 1
        xor %edi, %edi          // 1
        syscall                 // 1
        ud2
2:      nop                     // 3
        ret                     // 3
text:   .ascii "text"
        .section .note.GNU-stack, "", @progbits
