// SPDX-License-Identifier: MIT
// Three threads that work one after the other and together.
#include <pthread.h>

static volatile int counts[3];

static int __attribute__((noinline)) work(int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) sum += i * rounds;
  return sum;
}

static void* run(void* number) {
  const int id = *(int*)number;
  for (int i = 0; i < 5; ++i) counts[id] += work(10 + id);
  return 0;
}

int main(void) {
  pthread_t threads[3];
  int numbers[3] = {0, 1, 2};
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], 0, run, &numbers[i]);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
  return counts[0] + counts[1] + counts[2] == 0;
}
