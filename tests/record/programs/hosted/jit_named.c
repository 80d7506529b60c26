// SPDX-License-Identifier: MIT
// Makes functions at run time and writes down their names: `jit_named map|dump [fork]`, as perf's
// map of the process or as a jitdump in the current folder, with lines. The second function takes
// the first one's place. With a third word a child runs one of them, changed.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct Load {
  uint32_t kind, size;
  uint64_t time;
  uint32_t pid, tid;
  uint64_t vma, address, code_size, number;
};

struct Line {
  uint64_t address;
  uint32_t line, column;
};

static char* page;
static int file = -1;
static int dumps;

static uint64_t Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The first instruction is of line 10 * `count`, what is behind it of the next one.
static void TellLines(uint64_t at, unsigned char count) {
  const char source[] = "/jit/source.js";
  const char as_before[] = "\377";
  const struct Line first = {at, 10u * count, 1};
  const struct Line second = {at + 5, 10u * count + 1, 1};
  const uint32_t size = 32 + 2 * sizeof first + sizeof source + sizeof as_before;
  const uint32_t head[2] = {2, size};
  const uint64_t rest[3] = {Now(), at, 2};
  if (write(file, head, sizeof head) < 0 || write(file, rest, sizeof rest) < 0 ||
      write(file, &first, sizeof first) < 0 || write(file, source, sizeof source) < 0 ||
      write(file, &second, sizeof second) < 0 || write(file, as_before, sizeof as_before) < 0)
    _exit(3);
}

// A loop of `count` rounds at a place in the page.
static void Make(int at, unsigned char count, const char* name) {
  const unsigned char code[] = {0xb8, count, 0, 0, 0, 0xff, 0xc8, 0x75, 0xfc, 0xc3};
  memcpy(page + at, code, sizeof code);
  if (dumps) {
    TellLines((uint64_t)(page + at), count);
    const struct Load load = {0,
                              (uint32_t)(sizeof load + strlen(name) + 1 + sizeof code),
                              Now(),
                              (uint32_t)getpid(),
                              (uint32_t)getpid(),
                              (uint64_t)(page + at),
                              (uint64_t)(page + at),
                              sizeof code,
                              count};
    if (write(file, &load, sizeof load) < 0 || write(file, name, strlen(name) + 1) < 0 ||
        write(file, code, sizeof code) < 0)
      _exit(3);
  } else {
    dprintf(file, "%lx %zx %s\n", (unsigned long)(page + at), sizeof code, name);
  }
}

static void Run(int at) {
  void (*code)(void);
  char* place = page + at;
  memcpy(&code, &place, sizeof code);
  code();
}

int main(int count, char** words) {
  char path[64];
  dumps = count > 1 && strcmp(words[1], "dump") == 0;
  snprintf(path, sizeof path, dumps ? "jit-%d.dump" : "/tmp/perf-%d.map", getpid());
  file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return 2;
  page = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (dumps) {
    const uint32_t header[10] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid(), 0, 0, 0, 0};
    if (write(file, header, sizeof header) < 0) return 3;
    // So that whoever records mappings learns of the file.
    mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  } else {
    dprintf(file, "0 ffffffffffffffff everything\n-5 10 negative\nnonsense\n%lx 2000 stale\n",
            (unsigned long)page);
  }
  Make(0, 3, "First");
  Make(64, 5, "Second \033[31mred");
  Run(0);
  Run(64);
  if (count > 2) {
    const pid_t child = fork();
    if (child == 0) {
      page[65] = 9;  // the page is another one from here on
      Run(64);
      _exit(0);
    }
    waitpid(child, 0, 0);
    if (dumps) Make(64, 7, "Later");
    return 0;
  }
  if (dumps) {
    Make(0, 4, "Third");
    Run(0);
  }
  unlink(dumps ? path : "");
  return 0;
}
