// SPDX-License-Identifier: MIT
// Calls that do not return, at the end of their functions: behind each begins another function.
#include <stdlib.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

volatile int rounds;

APART __attribute__((noreturn)) static void Leave(int status) {
  rounds = rounds + 1;
  _exit(status);
}
APART __attribute__((noreturn)) static void Give(int status) {
  rounds = rounds + 2;
  Leave(status & rounds);
}
APART static void After(void) { rounds = rounds + 3; }

int main(int argc, char** argv) {
  (void)argv;
  After();
  Give(argc - 1);
}
