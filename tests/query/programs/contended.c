// SPDX-License-Identifier: MIT
// Threads that wait for each other: at a mutex that each holds for long, and for each other's end.
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t sum;
static int arrived;  // threads that are about to lock first

__attribute__((noinline)) void Work(unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) sum = sum + i;
}

__attribute__((noinline)) void Locked(unsigned number) {
  pthread_mutex_lock(&mutex);
  Work(number % 10 == 3 ? 60000 : 2000);
  pthread_mutex_unlock(&mutex);
}

void* Serve(void* unused) {
  __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
  for (unsigned number = 0; number < 40; ++number) {
    Locked(number);
    getppid();
  }
  return unused;
}

int main(void) {
  pthread_t others[3];
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < 3; ++i)
    if (pthread_create(&others[i], NULL, Serve, NULL) != 0) return 1;
  while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < 3) usleep(1000);
  usleep(50000);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < 3; ++i) pthread_join(others[i], NULL);
  return 0;
}
