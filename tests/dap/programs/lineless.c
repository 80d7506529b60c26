// SPDX-License-Identifier: MIT
// A program without libraries. With -DNO_LINES it is the part that is compiled without debug information: where the
// program begins, and a function between two others that have lines.
#ifdef NO_LINES
int plain(int value, int (*each)(int));
int plain(int value, int (*each)(int)) {
  int sum = value;
  for (int i = 0; i < 2; ++i)
    sum += each(sum);
  return sum;
}

__asm__(
    ".globl _start\n"
    ".type _start, @function\n"
    "_start:\n"
    "  nop\n"
    "  and $-16, %rsp\n"
    "  call run\n"
    "  mov %eax, %edi\n"
    "  mov $60, %eax\n"
    "  syscall\n"
    "  hlt\n"
    ".size _start, . - _start\n");
#else
int plain(int value, int (*each)(int));

static volatile int sink;

static int leaf(int value) {
  sink = value;
  return sink;
}

int run(void) {
  int sum = 1;
  sum += plain(sum, leaf);
  sink = sum;
  return sum & 1;
}
#endif
