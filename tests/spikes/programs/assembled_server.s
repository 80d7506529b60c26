# SPDX-License-Identifier: MIT
# The code of a server that tests execute virtually: they decide every branch and how long each step takes. Comments
# mark where a cause of slowness is planted, as in spiky_server. The labels in .places are the places at which the tests
# decide, in the order of enum Place (assembled_server.h).
        .text
        .globl  _start
        .type   _start, @function
_start:
        call    handle
.Ldone:
        ptwrite %rdi                    # DONE
.Lagain:
        jne     _start
        nop
        .size   _start, . - _start

        .type   handle, @function
handle:
        push    %rbx
        mov     %rdi, %rbx
        call    price
        call    count_items
        mov     (%rbx), %rax
        call    *(%rax)                 # CAUSE virtual-callee
        call    nest                    # CAUSE deep-recursion
        call    copy                    # CAUSE slower
        call    touch                   # CAUSE page-fault-storm
        call    take_ticket             # CAUSE slow-syscall
        call    throttle
        pop     %rbx
        ret
        .size   handle, . - handle

        .type   price, @function
price:
        mov     8(%rbx), %rax
        cmp     $1000, %rax
.Lrare:
        jae     1f                      # CAUSE rare-branch
        lea     (%rax,%rax,4), %rax
        ret
1:      imul    %rax, %rax              # CAUSE rare-branch
        add     $7, %rax                # CAUSE rare-branch
        dec     %rcx                    # CAUSE rare-branch
.Lrounds:
        jne     1b                      # CAUSE rare-branch
        ret
        .size   price, . - price

        .type   count_items, @function
count_items:
        mov     16(%rbx), %rcx
1:      add     (%rsi), %rax            # CAUSE longer-loop
        add     $8, %rsi                # CAUSE longer-loop
        dec     %rcx                    # CAUSE longer-loop
.Litems:
        jne     1b                      # CAUSE longer-loop
        ret
        .size   count_items, . - count_items

        .globl  usual
        .type   usual, @function
usual:
        imul    $3, %rax, %rax
        ret
        .size   usual, . - usual

        .globl  costly
        .type   costly, @function
costly:
        mov     $1500, %rcx
1:      imul    $5, %rax, %rax
        dec     %rcx
.Ltrials:
        jne     1b
        ret
        .size   costly, . - costly

        .type   nest, @function
nest:
        sub     $1, %rdi
.Ldeepest:
        js     1f
        call    nest                    # CAUSE deep-recursion
        add     $1, %rax                # CAUSE deep-recursion
1:      ret
        .size   nest, . - nest

        .type   copy, @function
copy:
        mov     $8, %rcx
1:      mov     (%rsi), %rax
.Lload:
        mov     %rax, (%rdi)            # CAUSE preemption
        add     $8, %rsi
        add     $8, %rdi
        dec     %rcx
.Lcopied:
        jne     1b
        ret
        .size   copy, . - copy

        .type   touch, @function
touch:
        mov     $4, %rcx
1:      lea     4096(%rdi), %rdi
.Lstore:
        movb    $1, (%rdi)              # CAUSE page-fault-storm
        dec     %rcx
.Ltouched:
        jne    1b
        ret
        .size   touch, . - touch

        .type   take_ticket, @function
take_ticket:
        xor     %eax, %eax
.Lticket:
        syscall                         # CAUSE slow-syscall
        ret
        .size   take_ticket, . - take_ticket

        .type   throttle, @function
throttle:
        test    %rdx, %rdx
.Lhurries:
        je     1f                      # CAUSE sleep
        mov     $35, %eax               # CAUSE sleep
.Lsleeps:
        syscall                         # CAUSE sleep
1:      ret
        .size   throttle, . - throttle

# What runs on the same CPU.
        .globl  neighbour
        .type   neighbour, @function
neighbour:
        dec     %rcx
.Lspins:
        jne     neighbour
        nop
        .size   neighbour, . - neighbour

# What hands requests to the server.
        .globl  submit
        .type   submit, @function
submit:
        ptwrite %rdi                    # SUBMITTED
        dec %rcx
.Lsubmits:
        jne     submit
        nop
        .size   submit, . - submit

        .section .places, "a"
        .quad   .Lagain, .Lrare, .Lrounds, .Litems, .Ltrials, .Ldeepest, .Lload, .Lcopied, .Lstore, .Ltouched
        .quad   .Lticket, .Lhurries, .Lsleeps, .Lspins, usual, costly, neighbour, .Ldone, submit, .Lsubmits
        .section .note.GNU-stack, "", @progbits
