// SPDX-License-Identifier: MIT
// Forks, and becomes the program that its argument names; the child becomes the second one, if any.
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;

#ifdef SECOND
static int __attribute__((noinline)) after(int value) {
  sink += value;
  return value * 3;
}

int main(void) { return after(2) == 0; }
#else
static int __attribute__((noinline)) before(int value) {
  sink += value;
  return value + 1;
}

int main(int count, char** words) {
  before(1);
  if (count > 2) {
    if (fork() == 0) return execv(words[2], words + 2);
    wait(0);
  }
  before(2);
  return execv(words[1], words + 1);
}
#endif
