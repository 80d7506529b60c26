/* SPDX-License-Identifier: MIT */
/* Threads that come and go, and a process, each of which touches so many pages for the first time. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kPage = 4096, kThreads = 3, kPagesOfFirst = 1000, kPagesOfProcess = 5000 };

static void Touch(size_t pages) {
  char* memory =
      mmap(NULL, pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, pages * kPage, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < pages; ++i) memory[i * kPage] = 1;
  munmap(memory, pages * kPage);
}

static void* Run(void* number) {
  Touch(((uintptr_t)number + 1) * kPagesOfFirst);
  return NULL;
}

int main(void) {
  for (uintptr_t i = 0; i < kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, Run, (void*)i) != 0) return 1;
    pthread_join(thread, NULL);
  }
  const pid_t child = fork();
  if (child == 0) {
    Touch(kPagesOfProcess);
    _exit(0);
  }
  return waitpid(child, NULL, 0) == child ? 0 : 1;
}
