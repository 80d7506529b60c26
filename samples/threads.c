// SPDX-License-Identifier: MIT
// Two threads that count together, one step at a time.
#include <pthread.h>
#include <stdio.h>

enum { kTurns = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void* TakeTurns(void* argument) {
  const int parity = *(const int*)argument;
  pthread_mutex_lock(&lock);
  while (turn < kTurns) {
    if (turn % 2 == parity) {
      ++turn;
      pthread_cond_broadcast(&changed);
    } else {
      pthread_cond_wait(&changed, &lock);
    }
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  static const int kEven = 0, kOdd = 1;
  pthread_t other;
  if (pthread_create(&other, NULL, TakeTurns, (void*)&kOdd) != 0) return 1;
  TakeTurns((void*)&kEven);
  pthread_join(other, NULL);
  printf("%d turns\n", turn);
  return 0;
}
