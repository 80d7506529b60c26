# SPDX-License-Identifier: MIT
# 32-bit code that calls and loops until it is killed.
  .globl _start
_start:
  mov $1000, %ecx
1:
  call work
  loop 1b
  jmp _start
work:
  dec %edx
  jz 2f
  nop
2:
  ret
