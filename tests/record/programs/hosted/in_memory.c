// SPDX-License-Identifier: MIT
// Becomes the program it is given, from a copy that no path leads to: `in_memory PROGRAM`.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char** words) {
  const int copy = memfd_create("copy", 0);
  const int program = count > 1 ? open(words[1], O_RDONLY) : -1;
  char piece[4096];
  char path[64];
  char* arguments[] = {"copy", 0};
  char* environment[] = {0};
  for (ssize_t got; (got = read(program, piece, sizeof piece)) > 0;)
    if (write(copy, piece, (size_t)got) != got) return 2;
  snprintf(path, sizeof path, "/proc/self/fd/%d", copy);
  execve(path, arguments, environment);
  return 3;
}
