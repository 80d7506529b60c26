// SPDX-License-Identifier: MIT
// The C library's other places to wait at: the first thread lets the others through, once all of
// them sleep.
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include <cstdlib>

#include "contention.h"

namespace contention {
namespace {

pthread_rwlock_t shared;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
mtx_t c11_mutex;
cnd_t c11_condition;
sem_t semaphore;
pthread_barrier_t barrier;
long opened = 0;  // this round is open; belongs to the mutex

Worker* first = nullptr;
std::atomic<long> inside{-1};  // the round in which the first thread is in RunOnce
std::vector<pthread_once_t> onces;

void Prepare(int threads, long rounds) {
  pthread_rwlock_init(&shared, nullptr);
  mtx_init(&c11_mutex, mtx_plain);
  cnd_init(&c11_condition);
  sem_init(&semaphore, 0, 0);
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
  opened = 0;
  inside.store(-1);
  onces.assign(static_cast<size_t>(rounds), PTHREAD_ONCE_INIT);
}

}  // namespace

APART void lock_reader() {
  if (pthread_rwlock_rdlock(&shared) != 0) {
    std::abort();
  }
}

APART void wait_condition(long round) {
  while (opened <= round) {
    pthread_cond_wait(&condition, &mutex);
  }
}

APART void wait_c11_condition(long round) {
  while (opened <= round) {
    cnd_wait(&c11_condition, &c11_mutex);
  }
}

APART void wait_semaphore() {
  if (sem_wait(&semaphore) != 0) {
    std::abort();
  }
}

APART void wait_barrier() {
  if (pthread_barrier_wait(&barrier) > 0) {
    std::abort();
  }
}

// Called by pthread_once; keeps the other threads waiting.
void RunOnce() {
  const long round = inside.load(std::memory_order_relaxed) + 1;
  inside.store(round, std::memory_order_release);
  AwaitRoundAsleep(*first, round);
  first->team->released = Now();
}

APART void wait_once(long round) {
  if (pthread_once(&onces[static_cast<size_t>(round)], RunOnce) != 0) {
    std::abort();
  }
}

namespace {

// The first thread writes while the others want to read.
void ReaderRounds(Worker& me, const Lock&) {
  for (long round = 0; round < me.rounds; ++round) {
    if (me.number != 0) {
      AwaitAtLeast(me, me.team->workers.front()->round, round);
      WaitInRound(me, round, lock_reader);
      pthread_rwlock_unlock(&shared);
      continue;
    }
    pthread_rwlock_wrlock(&shared);
    me.round.store(round, std::memory_order_release);
    AwaitRoundAsleep(me, round);
    me.team->released = Now();
    pthread_rwlock_unlock(&shared);
  }
}

void ConditionRounds(Worker& me, const Lock&) {
  for (long round = 0; round < me.rounds; ++round) {
    if (me.number == 0) {
      AwaitRoundAsleep(me, round);
      pthread_mutex_lock(&mutex);
      opened = round + 1;
      me.team->released = Now();
      pthread_cond_broadcast(&condition);
      pthread_mutex_unlock(&mutex);
      continue;
    }
    pthread_mutex_lock(&mutex);
    WaitInRound(me, round, [round] { wait_condition(round); });
    pthread_mutex_unlock(&mutex);
  }
}

void C11ConditionRounds(Worker& me, const Lock&) {
  for (long round = 0; round < me.rounds; ++round) {
    if (me.number == 0) {
      AwaitRoundAsleep(me, round);
      mtx_lock(&c11_mutex);
      opened = round + 1;
      me.team->released = Now();
      cnd_broadcast(&c11_condition);
      mtx_unlock(&c11_mutex);
      continue;
    }
    mtx_lock(&c11_mutex);
    WaitInRound(me, round, [round] { wait_c11_condition(round); });
    mtx_unlock(&c11_mutex);
  }
}

void SemaphoreRounds(Worker& me, const Lock&) {
  TokenRounds(me, wait_semaphore, [](long tokens) {
    for (; tokens > 0; --tokens) {
      sem_post(&semaphore);
    }
  });
}

void BarrierRounds(Worker& me, const Lock&) {
  for (long round = 0; round < me.rounds; ++round) {
    if (me.number == 0) {
      AwaitRoundAsleep(me, round);
      me.team->released = Now();
    }
    WaitInRound(me, round, wait_barrier);
  }
}

void OnceRounds(Worker& me, const Lock&) {
  if (me.number == 0) {
    first = &me;
  }
  for (long round = 0; round < me.rounds; ++round) {
    if (me.number != 0) {
      AwaitAtLeast(me, inside, round);
    }
    WaitInRound(me, round, [round] { wait_once(round); });
  }
}

}  // namespace

std::span<const Lock> OtherLocks() {
  static const Lock locks[] = {
      {"reader", "lock_reader", nullptr, true, ReaderRounds, nullptr, nullptr, Prepare, true,
       false},
      {"condition", "wait_condition", nullptr, true, ConditionRounds, nullptr, nullptr, Prepare,
       true, false},
      {"c11-condition", "wait_c11_condition", nullptr, true, C11ConditionRounds, nullptr, nullptr,
       Prepare, true, false},
      {"semaphore", "wait_semaphore", nullptr, true, SemaphoreRounds, nullptr, nullptr, Prepare,
       true, false},
      {"barrier", "wait_barrier", nullptr, true, BarrierRounds, nullptr, nullptr, Prepare, true,
       false},
      {"once", "wait_once", nullptr, true, OnceRounds, nullptr, nullptr, Prepare, true, false},
  };
  return locks;
}

}  // namespace contention
