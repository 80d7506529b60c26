// SPDX-License-Identifier: MIT
// moved_text WAY: puts its own text, or a part of it, into memory of another kind at the same
// addresses, as programs do to get huge pages, and calls it before and after. moved_text_test.py
// has the ways.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define MOVED __attribute__((section("moved"), noinline))

// The section begins a page; main and what moves it lie before.
__asm__(".section moved,\"ax\",@progbits\n.balign 4096\n.text\n");
extern char __start_moved[], __stop_moved[];

MOVED int both(int x) {
  int sum = 0;
  for (int i = 0; i < x; ++i) sum += i % 3;
  return sum;
}
MOVED int never(int x) { return x * 7 + 1; }
// On the next page.
MOVED __attribute__((aligned(4096))) int after(int x) {
  volatile int key = 0x11223344;
  return x + key;
}
MOVED int never_after(int x) { return x * 5 + 2; }

static char* Make(int flags, int file, size_t size) {
  char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) exit(2);
  return memory;
}

static char* Map(char* place, int flags, int file, size_t size, int access) {
  char* memory = mmap(place, size, access, flags | MAP_FIXED, file, 0);
  if (memory == MAP_FAILED) exit(3);
  return memory;
}

// Writes other code: the number in `after` becomes another one.
static void Change(char* begin, size_t size) {
  const uint32_t before = 0x11223344, now = 0x01020304;
  for (size_t i = 0; i + sizeof before <= size; ++i)
    if (memcmp(begin + i, &before, sizeof before) == 0) memcpy(begin + i, &now, sizeof now);
}

static void Move(const char* way) {
  char* begin = __start_moved;
  size_t size = ((uintptr_t)__stop_moved - (uintptr_t)begin + PAGE - 1) / PAGE * PAGE;
  if (strcmp(way, "part") == 0 || strcmp(way, "other") == 0) {
    begin += PAGE;
    size -= PAGE;
  }
  char* copy = Make(MAP_PRIVATE | MAP_ANONYMOUS, -1, size);
  memcpy(copy, begin, size);
  if (strcmp(way, "other") == 0) Change(copy, size);
  if (strcmp(way, "copy") == 0) {
    Map(begin, MAP_PRIVATE | MAP_ANONYMOUS, -1, size, PROT_READ | PROT_WRITE);
    madvise(begin, size, MADV_HUGEPAGE);
    memcpy(begin, copy, size);
    mprotect(begin, size, PROT_READ | PROT_EXEC);
  } else if (strcmp(way, "at once") == 0) {
    Map(begin, MAP_PRIVATE | MAP_ANONYMOUS, -1, size, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy(begin, copy, size);
  } else if (strcmp(way, "memfd") == 0) {
    const int file = memfd_create("text", 0);
    if (file < 0 || write(file, copy, size) != (ssize_t)size) exit(4);
    Map(begin, MAP_SHARED, file, size, PROT_READ | PROT_EXEC);
  } else {
    mprotect(copy, size, PROT_READ | PROT_EXEC);
    if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, begin) != begin) exit(5);
  }
}

int main(int count, char** words) {
  if (count != 2) return 1;
  const int before = both(10);
  Move(words[1]);
  printf("%d %d %x\n", before, both(20), after(0));
  return 0;
}
