# SPDX-License-Identifier: MIT
# What symbols and code look like where people write them by hand.
        .text
        .globl  unsized
        .type   unsized, @function
unsized:                                # a symbol of size 0
        xorl    %eax, %eax
        cmpl    $0, single(%rip)
        je      1f
        .byte   0xf0                    # LOCK, which the branch jumps over
1:      cmpxchgl %ecx, (%rdi)
        jmp     outer

        .globl  outer
        .type   outer, @function
outer:
        nop
        testl   %eax, %eax
        je      behind
        .globl  inner
        .type   inner, @function
inner:                                  # lies inside of outer
        incl    %eax
        ret
        .size   inner, . - inner
behind:
        decl    %eax
        ret
        .size   outer, . - outer

        .globl  twin
        .type   twin, @function
        .globl  alias
        .type   alias, @function
twin:
alias:
        movl    $1, %eax
        leave
        ret
        .size   twin, . - twin
        .size   alias, . - alias

        .globl  label                   # no function, for all that the table says
label:
        call    twin
        ud2
        .quad   0x0123456789abcdef      # no code: nothing leads here

        .globl  quits
        .type   quits, @function
quits:
        testl   %edi, %edi
        je      2f
        call    twin                    # whether it comes back, nothing tells
        nopw    0(%rax,%rax,1)          # that aligns what stands behind it
        nop
2:      incl    %eax
        ret
        .size   quits, . - quits

        .globl  hidden
        .type   hidden, @function
hidden:
        jmp     *%rdi
        incl    %ecx                    # only that jump could lead here
        ret
        .size   hidden, . - hidden

        .globl  through_pointer
        .type   through_pointer, @function
through_pointer:                        # a word that anyone may write is no table of one entry
        leaq    pointer(%rip), %rax
        movq    (%rax), %rcx
        jmp     *%rcx
3:      incl    %ecx
        ret
        .size   through_pointer, . - through_pointer

        .balign 32
        .globl  last
        .type   last, @function
last:
        ret
        .size   last, 4096              # beyond the section

        .data
pointer: .quad  3b
        .bss
single: .zero   4
        .section .note.GNU-stack, "", @progbits
