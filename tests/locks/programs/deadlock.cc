// SPDX-License-Identifier: MIT
// deadlock mutex|spin exit|signal: two threads take two locks in opposite orders and wait for each
// other for ever. A third one ends the program once they do.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "contention.h"

namespace contention {
namespace {

pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
std::atomic<int> words[2] = {0, 0};
std::atomic<int> holding{0};
std::atomic<int> tids[2] = {0, 0};

}  // namespace

APART void lock_word(std::atomic<int>& word) {
  while (word.exchange(1, std::memory_order_acquire) != 0) {
    Pause();
  }
}

APART void take_mutexes(int first) {
  pthread_mutex_lock(&mutexes[first]);
  holding.fetch_add(1);
  while (holding.load() != 2) {
    Pause();
  }
  pthread_mutex_lock(&mutexes[1 - first]);
  std::abort();
}

APART void take_words(int first) {
  lock_word(words[first]);
  holding.fetch_add(1);
  while (holding.load() != 2) {
    Pause();
  }
  lock_word(words[1 - first]);
  std::abort();
}

namespace {

int Main(int count, char** words_of_command) {
  if (count != 3) {
    std::fputs("usage: deadlock mutex|spin exit|signal\n", stderr);
    return 2;
  }
  const bool sleeps = std::strcmp(words_of_command[1], "mutex") == 0;
  for (int i = 0; i < 2; ++i) {
    std::thread([i, sleeps] {
      tids[i].store(static_cast<int>(syscall(SYS_gettid)));
      (sleeps ? take_mutexes : take_words)(i);
    }).detach();
  }
  while (holding.load() != 2) {
    usleep(100);
  }
  for (const auto& tid : tids) {
    while (sleeps && !IsAsleep(tid.load())) {
      usleep(100);
    }
  }
  usleep(20000);
  std::printf("{\"function\": \"deadlock\", \"tids\": [%d, %d]}\n", tids[0].load(), tids[1].load());
  std::fflush(stdout);
  if (std::strcmp(words_of_command[2], "signal") == 0) {
    raise(SIGTERM);
  }
  _exit(0);
}

}  // namespace
}  // namespace contention

int main(int count, char** words) { return contention::Main(count, words); }
