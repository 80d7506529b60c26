// SPDX-License-Identifier: MIT
// A 32-bit process that does what its second word names:
//   handlers  three kinds of signal handlers, for signals sent and for a fault, nested
//   threads   three more threads, by clone
//   mapped    runs code that it writes into memory
//   crash     writes where nothing is
//   trap      dies of an INT3
//   exec      runs its third word with the words behind
        .equ SYS_exit, 1
        .globl _start
_start: mov %esp, %ebp
        mov 8(%ebp), %esi               // the second word
        mov (%esi), %eax
        cmp $0x646e6168, %eax           // "hand"
        je handlers
        cmp $0x65726874, %eax           // "thre"
        je threads
        cmp $0x7070616d, %eax           // "mapp"
        je mapped
        cmp $0x73617263, %eax           // "cras"
        je crash
        cmp $0x70617274, %eax           // "trap"
        je trap
        cmp $0x63657865, %eax           // "exec"
        je exec
        mov $2, %ebx
quit:   mov $SYS_exit, %eax
        int $0x80
        ud2

// ---- signals ----

handlers:
        mov $67, %eax                   // sigaction: SIGUSR1, the old way
        mov $10, %ebx
        mov $old_action, %ecx
        xor %edx, %edx
        int $0x80
        mov $174, %eax                  // rt_sigaction: SIGUSR2, with a siginfo
        mov $12, %ebx
        mov $new_action, %ecx
        xor %edx, %edx
        mov $8, %esi
        int $0x80
        mov $174, %eax                  // SIGSEGV, with a siginfo
        mov $11, %ebx
        mov $fault_action, %ecx
        xor %edx, %edx
        mov $8, %esi
        int $0x80
        mov $174, %eax                  // SIGFPE, without one
        mov $8, %ebx
        mov $plain_action, %ecx
        xor %edx, %edx
        mov $8, %esi
        int $0x80
        mov $5, %edi
1:      mov $10, %ebx
        call send
        mov $12, %ebx
        call send
        dec %edi
        jnz 1b
        xor %ecx, %ecx
        movl $1, (%ecx)                 // its handler goes on behind
after_fault:
        mov $1, %eax
        cltd
        idiv %ecx
after_division:
        xor %ebx, %ebx
        jmp quit
send:   push %ebx
        mov $20, %eax                   // getpid
        int $0x80
        mov %eax, %ebx
        pop %ecx
        mov $37, %eax                   // kill
        int $0x80
        ret

on_usr1:                                // sends the other one from inside
        mov $12, %ebx
        call send
        ret
on_usr2:
        incl count
        ret
on_fault:
        mov 12(%esp), %eax              // the ucontext
        movl $after_fault, 76(%eax)     // EIP
        ret
on_division:
        movl $after_division, 64(%esp)
        ret
old_return:
        pop %eax
        mov $119, %eax                  // sigreturn
        int $0x80
new_return:
        mov $173, %eax                  // rt_sigreturn
        int $0x80

// ---- threads ----

threads:
        mov $3, %edi
        mov $stacks, %esi
1:      add $4096, %esi
        mov $120, %eax                  // clone
        mov $0x00350f00, %ebx           // PARENT_SETTID, CHILD_CLEARTID, SYSVSEM, THREAD and what that needs
        mov %esi, %ecx
        push %edi
        push %esi
        mov %edi, %ebp
        xor %esi, %esi
        lea ids(, %edi, 4), %edi
        mov %edi, %edx
        int $0x80
        test %eax, %eax
        jz thread
        pop %esi
        pop %edi
        dec %edi
        jnz 1b
        mov $3, %edi
2:      mov ids(, %edi, 4), %edx        // until the kernel has cleared it
        test %edx, %edx
        jz 3f
        mov $240, %eax                  // futex: wait
        lea ids(, %edi, 4), %ebx
        xor %ecx, %ecx
        push %esi
        xor %esi, %esi
        int $0x80
        pop %esi
        jmp 2b
3:      dec %edi
        jnz 2b
        xor %ebx, %ebx
        mov $252, %eax                  // exit_group
        int $0x80
thread: imul $100, %ebp, %ecx
1:      lock incl count
        loop 1b
        xor %ebx, %ebx
        jmp quit

// ---- code of its own ----

mapped: mov $192, %eax                  // mmap2
        mov $0x10000000, %ebx           // there, that the flow be the same each time
        mov $4096, %ecx
        mov $7, %edx
        mov $0x32, %esi
        mov $-1, %edi
        xor %ebp, %ebp
        int $0x80
        mov %eax, %ebx
        movl $0x41c031, (%ebx)          // xor %eax, %eax; inc %ecx
        movb $0xc3, 3(%ebx)
        call *%ebx
        mov $90, %eax                   // mmap, the old way
        mov $old_mapping, %ebx
        int $0x80
        mov %eax, %ebx
        movl $0xc3424a, (%ebx)          // dec %edx; inc %edx; ret
        call *%ebx
        movl $0xc3434b, (%ebx)          // dec %ebx; inc %ebx; ret
        call *%ebx
        xor %ebx, %ebx
        jmp quit

// ---- ends ----

crash:  call 1f
1:      pop %eax
        movl $1, 0x1000
        jmp quit
trap:   int3
        jmp quit

exec:   mov 12(%ebp), %ebx
        lea 12(%ebp), %ecx
        mov (%ebp), %eax
        lea 8(%ebp, %eax, 4), %edx
        mov $11, %eax
        int $0x80
        mov $3, %ebx
        jmp quit

        .data
old_action: .long on_usr1, 0, 0x04000000, old_return
new_action: .long on_usr2, 0x04000004, new_return, 0, 0
fault_action: .long on_fault, 0x04000004, new_return, 0, 0
plain_action: .long on_division, 0x04000000, old_return, 0, 0
old_mapping: .long 0x11000000, 4096, 7, 0x32, -1, 0
        .bss
        .balign 4096
ids:    .skip 16
count:  .skip 4
        .balign 4096
stacks: .skip 16384
        .section .note.GNU-stack, "", @progbits
