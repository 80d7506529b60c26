// SPDX-License-Identifier: MIT
// held: two threads fight for two locks. One is held for a moment, the other one for long.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "contention.h"

namespace contention {
namespace {

pthread_mutex_t brief = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t lengthy = PTHREAD_MUTEX_INITIALIZER;

}  // namespace

APART void hold_briefly() {
  pthread_mutex_lock(&brief);
  Delay(500);
  pthread_mutex_unlock(&brief);
}

// Far longer than the machine may keep a thread that holds the other lock.
APART void hold_for_long() {
  pthread_mutex_lock(&lengthy);
  usleep(150000);
  pthread_mutex_unlock(&lengthy);
}

namespace {

void Rounds() {
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 50; ++i) {
      hold_briefly();
    }
    hold_for_long();
  }
}

}  // namespace
}  // namespace contention

int main() {
  std::thread other(contention::Rounds);
  contention::Rounds();
  other.join();
  return 0;
}
