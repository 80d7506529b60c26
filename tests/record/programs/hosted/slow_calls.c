// SPDX-License-Identifier: MIT
// Calls of one function on several threads, few of them slow; some are left by longjmp, some call
// themselves. Prints how many there were, and how many took longer than 20 ms.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <time.h>

enum { kThreads = 3, kCalls = 40, kEvery = 10, kSlow = 40, kFast = 1 };

static void Sleep(long milliseconds) {
  struct timespec time = {.tv_sec = 0, .tv_nsec = milliseconds * 1000000};
  nanosleep(&time, NULL);
}

static void __attribute__((noinline)) Jump(jmp_buf* where) { longjmp(*where, 1); }

// Fast ones do not sleep at all: on a busy machine a short sleep may be a long one.
void __attribute__((noinline)) handle(long milliseconds, int deeper, jmp_buf* leave) {
  if (milliseconds > kFast) Sleep(milliseconds);
  if (deeper > 0) handle(0, deeper - 1, NULL);
  if (leave != NULL) Jump(leave);
  __asm__ volatile("" ::: "memory");  // no tail call
}

static void* Work(void* unused) {
  for (int i = 0; i < kCalls; ++i) handle(i % kEvery == kEvery - 1 ? kSlow : kFast, 0, NULL);
  return unused;
}

int main(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], NULL, Work, NULL) != 0) return 1;
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  jmp_buf where;
  if (setjmp(where) == 0) handle(kSlow, 0, &where);  // it has no end
  handle(kSlow, 3, NULL);                            // three fast ones are in it
  const int calls = kThreads * kCalls + 4;
  const int slow = kThreads * kCalls / kEvery + 1;
  printf("%d calls, %d slow\n", calls, slow);
  return 0;
}
