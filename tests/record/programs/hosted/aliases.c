// SPDX-License-Identifier: MIT
// Code that changes by another way than a write at its own address. The first argument says which.
// Exits with 0 if each function ran as it was written last; 77: this machine refuses what it needs.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kSize = 8192, kRefused = 77 };
typedef int (*Function)(int);
typedef void (*Writer)(size_t offset, const unsigned char* bytes, size_t size);

static unsigned char* writable;
static unsigned char* code;
static int file;

static void Need(int condition) {
  if (!condition) _exit(kRefused);
}

// mov eax, value; add or sub eax, edi; ret
static size_t Encode(unsigned char* out, int value, int subtracts) {
  const unsigned char bytes[] = {0xb8, 0, 0, 0, 0, subtracts ? 0x29 : 0x01, 0xf8, 0xc3};
  memcpy(out, bytes, sizeof bytes);
  memcpy(out + 1, &value, sizeof value);
  return sizeof bytes;
}

static void ByMapping(size_t offset, const unsigned char* bytes, size_t size) {
  memcpy(writable + offset, bytes, size);
}

static void ByWrite(size_t offset, const unsigned char* bytes, size_t size) {
  Need(pwrite(file, bytes, size, (off_t)offset) == (ssize_t)size);
}

static void ByMemoryFile(size_t offset, const unsigned char* bytes, size_t size) {
  const int memory = open("/proc/self/mem", O_RDWR);
  Need(memory >= 0);
  Need(pwrite(memory, bytes, size, (off_t)(uintptr_t)(code + offset)) == (ssize_t)size);
  close(memory);
}

// The kernel writes to the mapping.
static void ByRead(size_t offset, const unsigned char* bytes, size_t size) {
  int ends[2];
  Need(pipe(ends) == 0 && write(ends[1], bytes, size) == (ssize_t)size);
  const struct iovec parts[] = {{writable + offset, 3}, {writable + offset + 3, size - 3}};
  if (readv(ends[0], parts, 2) != (ssize_t)size) _exit(3);
  close(ends[0]);
  close(ends[1]);
}

static void ByChild(size_t offset, const unsigned char* bytes, size_t size) {
  const pid_t child = fork();
  if (child == 0) {
    memcpy(writable + offset, bytes, size);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

// Each time by a mapping that is made for it.
static void ByNewMapping(size_t offset, const unsigned char* bytes, size_t size) {
  writable = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  Need(writable != MAP_FAILED);
  memcpy(writable + offset, bytes, size);
  munmap(writable, kSize);
}

static int Run(Writer write_code) {
  unsigned char bytes[16];
  int wrong = 0;
  for (int round = 0; round < 3; ++round) {
    for (int at = 0; at < 2; ++at) {
      const int value = 100 * (round + 1) + at;
      const size_t offset = at == 0 ? 64 : 4096 + 8;
      write_code(offset, bytes, Encode(bytes, value, round & 1));
      for (int i = 0; i < 20; ++i)
        wrong |= ((Function)(code + offset))(5) != (round & 1 ? value - 5 : value + 5);
    }
  }
  return wrong;
}

static char name[] = "/tmp/aliasesXXXXXX";
static void Remove(void) { unlink(name); }

static void OpenFile(int unlinks) {
  file = mkstemp(name);
  Need(file >= 0 && ftruncate(file, kSize) == 0);
  if (unlinks)
    Remove();
  else
    atexit(Remove);
}

static void OpenMemory(void) {
  file = memfd_create("aliases", 0);
  Need(file >= 0 && ftruncate(file, kSize) == 0);
}

static void MapTwice(void) {
  writable = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  code = mmap(NULL, kSize, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  Need(writable != MAP_FAILED && code != MAP_FAILED);
}

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  if (strcmp(how, "memfd") == 0) {
    OpenMemory();
    MapTwice();
    return Run(ByMapping);
  }
  if (strcmp(how, "unlinked") == 0 || strcmp(how, "file") == 0) {
    OpenFile(how[0] == 'u');
    MapTwice();
    return Run(ByMapping);
  }
  if (strcmp(how, "shm") == 0) {
    const int id = shmget(IPC_PRIVATE, kSize, IPC_CREAT | 0700);
    Need(id >= 0);
    writable = shmat(id, NULL, 0);
    code = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    Need(writable != (void*)-1 && code != (void*)-1);
    Need(mprotect(code, kSize, PROT_READ | PROT_EXEC) == 0);
    return Run(ByMapping);
  }
  if (strcmp(how, "mremap") == 0) {
    OpenMemory();
    writable = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    Need(writable != MAP_FAILED);
    code = mremap(writable, 0, kSize, MREMAP_MAYMOVE);
    Need(code != MAP_FAILED && mprotect(code, kSize, PROT_READ | PROT_EXEC) == 0);
    return Run(ByMapping);
  }
  if (strcmp(how, "new-mapping") == 0) {
    OpenMemory();
    code = mmap(NULL, kSize, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    Need(code != MAP_FAILED);
    return Run(ByNewMapping);
  }
  if (strcmp(how, "write") == 0) {
    OpenFile(1);
    code = mmap(NULL, kSize, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    Need(code != MAP_FAILED);
    return Run(ByWrite);
  }
  if (strcmp(how, "proc-mem") == 0) {
    code = mmap(NULL, kSize, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    Need(code != MAP_FAILED);
    return Run(ByMemoryFile);
  }
  OpenMemory();
  MapTwice();
  return Run(strcmp(how, "read") == 0 ? ByRead : ByChild);
}
