// SPDX-License-Identifier: MIT
// One thread ends, another one waits in the kernel until the program exits long after.
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static volatile int waits;
static volatile long rounds;

static void* Ends(void* unused) { return unused; }

static void* Waits(void* unused) {
  waits = 1;
  pthread_mutex_lock(&held);
  return unused;
}

int main(void) {
  pthread_t waiter, ender;
  pthread_mutex_lock(&held);
  pthread_create(&ender, 0, Ends, 0);
  pthread_join(ender, 0);
  pthread_create(&waiter, 0, Waits, 0);
  while (!waits) usleep(100);
  usleep(20000);
  for (int i = 0; i < 5000; ++i) ++rounds;
  _exit(rounds != 5000);
}
