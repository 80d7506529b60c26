// SPDX-License-Identifier: MIT
// The C library's locks that only one thread holds. The program sees who sleeps, not how often the
// library's loops go round.
#include <pthread.h>
#include <threads.h>

#include <cstdlib>
#include <mutex>

#include "contention.h"

namespace contention {
namespace {

pthread_mutex_t mutex;
pthread_spinlock_t spin;
pthread_rwlock_t shared;
mtx_t c11;
std::mutex standard;

void Prepare(int type, int robust, int protocol) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  pthread_mutexattr_setrobust(&attributes, robust);
  pthread_mutexattr_setprotocol(&attributes, protocol);
  if (pthread_mutex_init(&mutex, &attributes) != 0) {
    std::abort();
  }
}

void Normal(int, long) { Prepare(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE); }
void Recursive(int, long) {
  Prepare(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
}
void Checking(int, long) {
  Prepare(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
}
void Adaptive(int, long) {
  Prepare(PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
}
void Robust(int, long) { Prepare(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE); }
void Inheriting(int, long) {
  Prepare(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
}
void Spin(int, long) { pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE); }
void Shared(int, long) { pthread_rwlock_init(&shared, nullptr); }
void C11(int, long) { mtx_init(&c11, mtx_plain); }

// Ends the program where a call of the library fails.
void Check(int error) {
  if (error != 0) {
    std::abort();
  }
}

}  // namespace

// Each kind of mutex has a function of its own, so that their sites differ by their callers.
template <int kKind>
[[gnu::always_inline]] inline Wait LockMutex() {
  Check(pthread_mutex_lock(&mutex));
  return {.trips = 0};
}

APART Wait lock_normal(Worker&) { return LockMutex<0>(); }
APART Wait lock_recursive(Worker&) { return LockMutex<1>(); }
APART Wait lock_checking(Worker&) { return LockMutex<2>(); }
APART Wait lock_adaptive(Worker&) { return LockMutex<3>(); }
APART Wait lock_robust(Worker&) { return LockMutex<4>(); }
APART Wait lock_inheriting(Worker&) { return LockMutex<5>(); }

APART Wait unlock_mutex(Worker&) {
  Check(pthread_mutex_unlock(&mutex));
  return {};
}

APART Wait lock_pthread_spin(Worker&) {
  Check(pthread_spin_lock(&spin));
  return {};
}

APART Wait unlock_pthread_spin(Worker&) {
  Check(pthread_spin_unlock(&spin));
  return {};
}

APART Wait lock_writer(Worker&) {
  Check(pthread_rwlock_wrlock(&shared));
  return {};
}

APART Wait unlock_writer(Worker&) {
  Check(pthread_rwlock_unlock(&shared));
  return {};
}

APART Wait lock_c11(Worker&) {
  Check(mtx_lock(&c11));
  return {};
}

APART Wait unlock_c11(Worker&) {
  Check(mtx_unlock(&c11));
  return {};
}

APART Wait lock_standard(Worker&) {
  standard.lock();
  return {};
}

APART Wait unlock_standard(Worker&) {
  standard.unlock();
  return {};
}

std::span<const Lock> PosixLocks() {
  static const Lock locks[] = {
      {"normal", "lock_normal", nullptr, true, MutualExclusion, lock_normal, unlock_mutex, Normal,
       true, false},
      {"recursive", "lock_recursive", nullptr, true, MutualExclusion, lock_recursive, unlock_mutex,
       Recursive, true, false},
      {"checking", "lock_checking", nullptr, true, MutualExclusion, lock_checking, unlock_mutex,
       Checking, true, false},
      {"adaptive", "lock_adaptive", nullptr, true, MutualExclusion, lock_adaptive, unlock_mutex,
       Adaptive, true, false},
      {"robust", "lock_robust", nullptr, true, MutualExclusion, lock_robust, unlock_mutex, Robust,
       true, false},
      {"inheriting", "lock_inheriting", nullptr, true, MutualExclusion, lock_inheriting,
       unlock_mutex, Inheriting, true, false},
      {"writer", "lock_writer", nullptr, true, MutualExclusion, lock_writer, unlock_writer, Shared,
       true, false},
      {"c11", "lock_c11", nullptr, true, MutualExclusion, lock_c11, unlock_c11, C11, true, false},
      {"mutex", "lock_standard", nullptr, true, MutualExclusion, lock_standard, unlock_standard,
       nullptr, true, false},
      {"pthread-spin", "lock_pthread_spin", nullptr, false, MutualExclusion, lock_pthread_spin,
       unlock_pthread_spin, Spin, false, false},
  };
  return locks;
}

}  // namespace contention
