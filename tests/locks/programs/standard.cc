// SPDX-License-Identifier: MIT
// Places to wait at of the C++ library: the first thread lets the others through, once all of them
// sleep.
#include <barrier>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <optional>
#include <semaphore>
#include <shared_mutex>

#include "contention.h"

namespace contention {
namespace {

std::atomic<int> value{0};
std::vector<std::unique_ptr<std::latch>> latches;
std::shared_mutex shared;
std::mutex mutex;
std::condition_variable condition;
std::optional<std::counting_semaphore<>> semaphore;
long opened = 0;

void Prepare(int, long rounds) {
  value.store(0);
  latches.clear();
  for (long i = 0; i < rounds; ++i) {
    latches.push_back(std::make_unique<std::latch>(1));
  }
  semaphore.emplace(0);
  opened = 0;
}

// The last call of a function would become a jump, and its caller unknown.
void StayInCallStack() { asm volatile("" ::: "memory"); }

}  // namespace

APART void wait_atomic(int round) { value.wait(round); }

APART void wait_latch(long round) {
  latches[static_cast<size_t>(round)]->wait();
  StayInCallStack();
}

APART void lock_shared() {
  shared.lock_shared();
  StayInCallStack();
}

APART Wait lock_exclusive(Worker&) {
  shared.lock();
  return {};
}

APART Wait unlock_exclusive(Worker&) {
  shared.unlock();
  return {};
}

APART void acquire_semaphore() {
  semaphore->acquire();
  StayInCallStack();
}

APART void wait_standard_condition(std::unique_lock<std::mutex>& lock, long round) {
  condition.wait(lock, [round] { return opened > round; });
}

namespace {

void AtomicRounds(Worker& me, const Lock&) {
  for (int round = 0; round < me.rounds; ++round) {
    if (me.number != 0) {
      WaitInRound(me, round, [round] { wait_atomic(round); });
      continue;
    }
    AwaitRoundAsleep(me, round);
    me.team->released = Now();
    value.store(round + 1);
    value.notify_all();
  }
}

void LatchRounds(Worker& me, const Lock&) {
  for (long round = 0; round < me.rounds; ++round) {
    if (me.number != 0) {
      WaitInRound(me, round, [round] { wait_latch(round); });
      continue;
    }
    AwaitRoundAsleep(me, round);
    me.team->released = Now();
    latches[static_cast<size_t>(round)]->count_down();
  }
}

void SharedRounds(Worker& me, const Lock&) {
  for (long round = 0; round < me.rounds; ++round) {
    if (me.number != 0) {
      AwaitAtLeast(me, me.team->workers.front()->round, round);
      WaitInRound(me, round, lock_shared);
      shared.unlock_shared();
      continue;
    }
    shared.lock();
    me.round.store(round, std::memory_order_release);
    AwaitRoundAsleep(me, round);
    me.team->released = Now();
    shared.unlock();
  }
}

void SemaphoreRounds(Worker& me, const Lock&) {
  TokenRounds(me, acquire_semaphore, [](long tokens) { semaphore->release(tokens); });
}

void ConditionRounds(Worker& me, const Lock&) {
  for (long round = 0; round < me.rounds; ++round) {
    if (me.number != 0) {
      std::unique_lock lock(mutex);
      WaitInRound(me, round, [&lock, round] { wait_standard_condition(lock, round); });
      continue;
    }
    AwaitRoundAsleep(me, round);
    const std::unique_lock lock(mutex);
    opened = round + 1;
    me.team->released = Now();
    condition.notify_all();
  }
}

}  // namespace

std::span<const Lock> StandardLocks() {
  static const Lock locks[] = {
      {"atomic-wait", "wait_atomic", nullptr, true, AtomicRounds, nullptr, nullptr, Prepare, true,
       false},
      {"latch", "wait_latch", nullptr, true, LatchRounds, nullptr, nullptr, Prepare, true, false},
      {"shared-reader", "lock_shared", nullptr, true, SharedRounds, nullptr, nullptr, Prepare, true,
       false},
      {"shared-writer", "lock_exclusive", nullptr, true, MutualExclusion, lock_exclusive,
       unlock_exclusive, Prepare, true, false},
      {"counting-semaphore", "acquire_semaphore", nullptr, true, SemaphoreRounds, nullptr, nullptr,
       Prepare, true, false},
      {"standard-condition", "wait_standard_condition", nullptr, true, ConditionRounds, nullptr,
       nullptr, Prepare, true, false},
  };
  return locks;
}

}  // namespace contention
