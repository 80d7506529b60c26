// SPDX-License-Identifier: MIT
// Locks of which one function acquires several: how often threads waited for each, by its address.
//
//   instances      prints a line of JSON for each lock and thread
//
// The first thread holds a lock until the second one has found it taken: that one waits each time.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>

#define APART [[gnu::noinline, gnu::noclone]]

namespace {

struct Spin {
  std::atomic<int> word{0};
};
struct alignas(64) PaddedSpin {
  Spin spin;
};
struct alignas(64) Mutex {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
};

// Symbols that the answer is to name.
extern "C" {
PaddedSpin padded[3];
alignas(64) Spin close_together[2];
Mutex mutexes[3];
}

// Returns how many checks failed.
APART long LockSpin(Spin& lock) {
  long trips = 0;
  while (lock.word.exchange(1, std::memory_order_acquire) != 0) do {
      ++trips;
      __builtin_ia32_pause();
    } while (lock.word.load(std::memory_order_relaxed) != 0);
  return trips;
}

APART void UnlockSpin(Spin& lock) { lock.word.store(0, std::memory_order_release); }
APART void LockMutex(pthread_mutex_t& mutex) { pthread_mutex_lock(&mutex); }
APART void UnlockMutex(pthread_mutex_t& mutex) { pthread_mutex_unlock(&mutex); }

std::atomic<int> round{0};    // whose lock is held
std::atomic<int> reached{0};  // by the second thread, just before it acquires that lock
std::atomic<int> done{0};     // with that lock

void Await(const std::atomic<int>& word, int value) {
  while (word.load(std::memory_order_acquire) < value) usleep(100);
}

void Print(const char* kind, const char* function, const void* address, int acquired, int waited,
           long trips) {
  std::printf(
      "{\"kind\": \"%s\", \"function\": \"%s\", \"address\": \"%#lx\", \"tid\": %d, "
      "\"acquisitions\": %d, \"waits\": %d, \"trips\": %ld}\n",
      kind, function, reinterpret_cast<unsigned long>(address), gettid(), acquired, waited, trips);
}

// The second thread waits for each of these so often.
constexpr int kMutexRounds[] = {3, 1, 2};
constexpr int kSpinRounds[] = {2, 4, 1};

bool IsWaitedFor(pthread_mutex_t& mutex) {
  return std::atomic_ref<int>(mutex.__data.__lock).load() == 2;
}

void HoldMutexes() {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < kMutexRounds[i]; ++j) {
      LockMutex(mutexes[i].mutex);
      round.fetch_add(1);
      while (!IsWaitedFor(mutexes[i].mutex)) usleep(100);
      UnlockMutex(mutexes[i].mutex);
      Await(reached, round.load());
    }
}

void WaitForMutexes(int& next) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < kMutexRounds[i]; ++j) {
      Await(round, ++next);
      LockMutex(mutexes[i].mutex);
      UnlockMutex(mutexes[i].mutex);
      reached.store(next);
    }
}

void HoldSpin(Spin& lock, int rounds) {
  for (int j = 0; j < rounds; ++j) {
    LockSpin(lock);
    const int now = round.fetch_add(1) + 1;
    Await(reached, now);
    usleep(500);
    UnlockSpin(lock);
    Await(done, now);
  }
}

void WaitForSpin(Spin& lock, int rounds, int& next) {
  int waited = 0;
  long trips = 0;
  for (int j = 0; j < rounds; ++j) {
    Await(round, ++next);
    reached.store(next);
    const long failed = LockSpin(lock);
    waited += failed > 0;
    trips += failed;
    UnlockSpin(lock);
    done.store(next);
  }
  Print("spin", "LockSpin", &lock, rounds, waited, trips);
}

void Hold(Spin& on_heap) {
  HoldMutexes();
  for (int i = 0; i < 3; ++i) HoldSpin(padded[i].spin, kSpinRounds[i]);
  HoldSpin(on_heap, 2);
  HoldSpin(close_together[0], 2);
}

void WaitForAll(Spin& on_heap) {
  int next = 0;
  WaitForMutexes(next);
  for (int i = 0; i < 3; ++i)
    Print("mutex", "LockMutex", &mutexes[i].mutex, kMutexRounds[i], kMutexRounds[i], 0);
  for (int i = 0; i < 3; ++i) WaitForSpin(padded[i].spin, kSpinRounds[i], next);
  WaitForSpin(on_heap, 2, next);
  WaitForSpin(close_together[0], 2, next);
}

// A lock of its own, in the line of another one.
void UseNeighbour() {
  for (int i = 0; i < 5; ++i) {
    LockSpin(close_together[1]);
    UnlockSpin(close_together[1]);
  }
}

}  // namespace

int main() {
  auto* on_heap = new PaddedSpin;
  std::thread waits(WaitForAll, std::ref(on_heap->spin));
  std::thread neighbour(UseNeighbour);
  Hold(on_heap->spin);
  waits.join();
  neighbour.join();
  delete on_heap;
}
