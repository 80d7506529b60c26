# SPDX-License-Identifier: MIT
# Places to begin and end a recording at: reached by falling through in mid-block, and with an atomic
# and a repeating instruction near. Three rounds of ten instructions, one before, three behind.
  .text
  .globl _start, first, second, third, last
_start:
  mov $3, %ebx
round:
  inc %eax
first:
  inc %eax
  inc %eax
second:
  inc %eax
  mov $5, %ecx
  lea buffer(%rip), %rdi
  lock incl counter(%rip)
third:
  rep stosb
  dec %ebx
  jnz round
last:
  mov $60, %eax
  xor %edi, %edi
  syscall

  .bss
counter:
  .zero 8
buffer:
  .zero 8
