// SPDX-License-Identifier: MIT
// sleeping PLAN...: one thread for each plan. Each letter of its plan is something for which it
// sleeps once, in that order: the first thread lets it go on when it has slept for a while. Writes
// the numbers of the threads, in the order of the plans.
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "contention.h"

namespace contention {
namespace {

constexpr useconds_t kSleep = 2000;

struct Sleeper {
  std::string plan;
  std::atomic<int> tid{0};
  std::atomic<size_t> step{0};  // it has begun so many
  pthread_mutex_t mutex{};
  pthread_mutex_t inheriting{};
  sem_t semaphore{};
  std::mutex condition_mutex;
  std::condition_variable condition;
  bool is_true = false;
  std::atomic<int> word{0};
  std::thread thread;
};

void FutexCall(std::atomic<int>& word, int operation, int value) {
  syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

APART void sleep_for_mutex(pthread_mutex_t& mutex) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
APART void sleep_for_semaphore(sem_t& semaphore) { sem_wait(&semaphore); }
APART void sleep_for_word(std::atomic<int>& word) {
  while (word.load() == 0) {
    FutexCall(word, FUTEX_WAIT_PRIVATE, 0);
  }
  word.store(0);
}
APART void sleep_for_condition(Sleeper& me) {
  std::unique_lock lock(me.condition_mutex);
  while (!me.is_true) {
    me.condition.wait(lock);
  }
  me.is_true = false;
}

namespace {

void Sleep(Sleeper& me) {
  me.tid.store(static_cast<int>(syscall(SYS_gettid)));
  for (size_t i = 0; i < me.plan.size(); ++i) {
    // The first thread has taken the locks of this step.
    while (me.step.load(std::memory_order_acquire) != 2 * i + 1) {
      usleep(100);
    }
    switch (me.plan[i]) {
      case 'm':
        sleep_for_mutex(me.mutex);
        break;
      case 'p':
        sleep_for_mutex(me.inheriting);
        break;
      case 's':
        sleep_for_semaphore(me.semaphore);
        break;
      case 'c':
        sleep_for_condition(me);
        break;
      default:
        sleep_for_word(me.word);
    }
    me.step.store(2 * i + 2, std::memory_order_release);
  }
}

void LetGo(Sleeper& sleeper, char what) {
  switch (what) {
    case 'm':
      pthread_mutex_unlock(&sleeper.mutex);
      break;
    case 'p':
      pthread_mutex_unlock(&sleeper.inheriting);
      break;
    case 's':
      sem_post(&sleeper.semaphore);
      break;
    case 'c': {
      {
        const std::lock_guard lock(sleeper.condition_mutex);
        sleeper.is_true = true;
      }
      sleeper.condition.notify_one();
      break;
    }
    default:
      sleeper.word.store(1);
      FutexCall(sleeper.word, FUTEX_WAKE_PRIVATE, 1);
  }
}

void Step(Sleeper& sleeper, size_t i) {
  const char what = sleeper.plan[i];
  if (what == 'm') {
    pthread_mutex_lock(&sleeper.mutex);
  } else if (what == 'p') {
    pthread_mutex_lock(&sleeper.inheriting);
  }
  sleeper.step.store(2 * i + 1, std::memory_order_release);
  while (!IsAsleep(sleeper.tid.load())) {
    usleep(100);
  }
  usleep(kSleep);
  LetGo(sleeper, what);
  while (sleeper.step.load(std::memory_order_acquire) != 2 * i + 2) {
    usleep(100);
  }
}

int Main(int count, char** words) {
  std::vector<std::unique_ptr<Sleeper>> sleepers;
  pthread_mutexattr_t inherits;
  pthread_mutexattr_init(&inherits);
  pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
  for (int i = 1; i < count; ++i) {
    Sleeper& sleeper = *sleepers.emplace_back(std::make_unique<Sleeper>());
    sleeper.plan = words[i];
    pthread_mutex_init(&sleeper.inheriting, &inherits);
    sem_init(&sleeper.semaphore, 0, 0);
    sleeper.thread = std::thread([&sleeper] { Sleep(sleeper); });
    while (sleeper.tid.load() == 0) {
      usleep(100);
    }
    std::printf("{\"tid\": %d, \"plan\": \"%s\", \"function\": \"Sleep\"}\n", sleeper.tid.load(),
                words[i]);
  }
  std::fflush(stdout);
  size_t longest = 0;
  for (const auto& sleeper : sleepers) {
    longest = std::max(longest, sleeper->plan.size());
  }
  for (size_t i = 0; i < longest; ++i) {
    for (const auto& sleeper : sleepers) {
      if (i < sleeper->plan.size()) {
        Step(*sleeper, i);
      }
    }
  }
  for (const auto& sleeper : sleepers) {
    sleeper->thread.join();
  }
  return 0;
}

}  // namespace
}  // namespace contention

int main(int count, char** words) { return contention::Main(count, words); }
