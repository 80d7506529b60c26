// SPDX-License-Identifier: MIT
// Threads, a tail call, and functions of two source files of one name, for judge_threads.py.
#include <pthread.h>

#define KEPT __attribute__((noinline, noclone))

int part_one(int value);
int part_two(int value);

static volatile int seen[4];

KEPT static int last(int value) {
  seen[0] += value;
  return seen[0];
}

KEPT static int tail(int value) {
  seen[0] += 1;
  return last(value + 1);
}

KEPT static int visit(int number) {
  seen[number] += number;
  return seen[number];
}

static void* work(void* number) {
  int sum = 0;
  for (int i = 0; i < 5; ++i) sum += visit(*(int*)number);
  seen[*(int*)number] = sum;
  return 0;
}

int main(void) {
  pthread_t threads[3];
  int numbers[3] = {1, 2, 3};
  seen[0] = tail(1);
  seen[0] += part_one(1) + part_two(2);
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], 0, work, &numbers[i]);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
  return seen[1] == 0;
}
