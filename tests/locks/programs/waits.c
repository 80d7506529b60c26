// SPDX-License-Identifier: MIT
// Loops that wait for another thread, which never comes. What they wait for is not static: the
// compiler would see that nobody writes to it.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "loops.h"

atomic_int taken = 1;
atomic_flag flag_taken = ATOMIC_FLAG_INIT;
atomic_uint now_serving;
atomic_uint next_ticket = 3;
atomic_uint sequence = 1;
atomic_int readers[4] = {0, 2, 0, 0};
atomic_ulong bits = 5;
_Thread_local atomic_int own_flag;

static void Ttas(void) {
  for (;;) {
    while (atomic_load_explicit(&taken, memory_order_relaxed)) Pause();
    if (!atomic_exchange(&taken, 1)) break;
  }
}

static void Tas(void) {
  while (atomic_exchange(&taken, 1)) {
  }
}

static void TasPause(void) {
  atomic_flag_test_and_set(&flag_taken);
  while (atomic_flag_test_and_set(&flag_taken)) Pause();
}

static void CompareExchange(void) {
  int expected = 0;
  while (!atomic_compare_exchange_weak(&taken, &expected, 1)) {
    expected = 0;
    Pause();
  }
}

static void Ticket(void) {
  const unsigned mine = atomic_fetch_add(&next_ticket, 1);
  while (atomic_load_explicit(&now_serving, memory_order_acquire) != mine) Pause();
}

static void TicketProportional(void) {
  const unsigned mine = atomic_fetch_add(&next_ticket, 1);
  for (;;) {
    const unsigned current = atomic_load_explicit(&now_serving, memory_order_acquire);
    if (current == mine) break;
    for (unsigned i = 0; i < (mine - current) * 4; ++i) Pause();
  }
}

struct Node {
  struct Node* _Atomic next;
  atomic_bool locked;
};
struct Node* _Atomic queue;
struct Node other_node = {.locked = true};

static void Mcs(void) {
  struct Node node = {.locked = true};
  atomic_store(&queue, &other_node);
  struct Node* before = atomic_exchange(&queue, &node);
  atomic_store(&before->next, &node);
  while (atomic_load_explicit(&node.locked, memory_order_acquire)) Pause();
}

static void McsRelease(void) {  // waits for the one that is about to join the queue
  struct Node* node = &other_node;
  while (atomic_load_explicit(&node->next, memory_order_acquire) == NULL) {
  }
}

static void Clh(void) {
  struct Node node = {.locked = true};
  atomic_store(&queue, &other_node);
  struct Node* before = atomic_exchange(&queue, &node);
  while (atomic_load_explicit(&before->locked, memory_order_acquire)) Pause();
}

static void SeqlockBegin(void) {
  while (atomic_load_explicit(&sequence, memory_order_acquire) & 1) Pause();
}

atomic_int sense;
static void Barrier(void) {
  const int mine = !atomic_load(&sense);
  while (atomic_load_explicit(&sense, memory_order_acquire) != mine) {
  }
}

static void ReadersGone(void) {
  for (int i = 0; i < 4; ++i)
    while (atomic_load_explicit(&readers[i], memory_order_acquire) != 0) Pause();
}

static NOINLINE bool SpinBounded(int most) {
  for (int i = 0; i < most; ++i) {
    if (!atomic_load_explicit(&taken, memory_order_relaxed)) return true;
    Pause();
  }
  return false;
}

static volatile bool was_free;
static void Bounded(void) { was_free = SpinBounded((int)Hidden(100000)); }

static void Backoff(void) {
  unsigned delay = 1;
  while (atomic_exchange_explicit(&taken, 1, memory_order_acquire)) {
    for (unsigned i = 0; i < delay; ++i) Pause();
    if (delay < 16) delay *= 2;
  }
}

struct Owner {
  struct Lock* lock;
};
struct Lock {
  long filler;
  atomic_int taken;
};
struct Lock far_lock = {.taken = 1};
struct Owner owner = {&far_lock};

static NOINLINE void LockFar(struct Owner* of) {
  while (atomic_load_explicit(&of->lock->taken, memory_order_acquire)) Pause();
}

static void TwoPointers(void) { LockFar(&owner); }

static void ThreadLocal(void) {
  while (atomic_load_explicit(&own_flag, memory_order_acquire) == 0) {
  }
}

static void BitSet(void) {
  while (atomic_fetch_or(&bits, 4) & 4) Pause();
}

static void BitCleared(void) {
  while (!(atomic_fetch_and(&bits, ~8UL) & 8)) {
  }
}

static void Yield(void) {
  while (atomic_load(&taken)) sched_yield();
}

static void Sleep(void) {
  const struct timespec pause = {0, 1000};
  while (atomic_load(&taken)) nanosleep(&pause, NULL);
}

static void LibrarySpinlock(void) {
  static pthread_spinlock_t lock;
  pthread_spin_init(&lock, 0);
  pthread_spin_lock(&lock);
  pthread_spin_lock(&lock);
}

atomic_int count_of_readers;
// A reader that enters, sees the writer and leaves again.
static void ReaderBacksOff(void) {
  for (;;) {
    atomic_fetch_add(&count_of_readers, 1);
    if (!atomic_load(&taken)) break;
    atomic_fetch_sub(&count_of_readers, 1);
    Pause();
  }
}

static NOINLINE bool TryLock(atomic_int* lock) {
  return atomic_exchange_explicit(lock, 1, memory_order_acquire) == 0;
}

static void TryInFunction(void) {
  while (!TryLock(&taken)) Pause();
}

static NOINLINE bool TryCompare(atomic_int* lock) {
  int expected = 0;
  return atomic_compare_exchange_strong(lock, &expected, 1);
}

static void TryCompareInFunction(void) {
  while (!TryCompare(&taken)) Pause();
}

atomic_uchar narrow_flag;
static void NarrowFlag(void) {
  while (!(atomic_load_explicit(&narrow_flag, memory_order_acquire) & 0x40)) Pause();
}

static void TimeOut(void) {  // gives up after a long time
  const unsigned long begin = Ticks();
  while (atomic_load_explicit(&taken, memory_order_acquire)) {
    if (Ticks() - begin > 1UL << 50) break;
    Pause();
  }
}

static const struct Loop loops[] = {
    {"ttas", Ttas},
    {"tas", Tas},
    {"tas_pause", TasPause},
    {"compare_exchange", CompareExchange},
    {"ticket", Ticket},
    {"ticket_proportional", TicketProportional},
    {"mcs", Mcs},
    {"mcs_release", McsRelease},
    {"clh", Clh},
    {"seqlock_begin", SeqlockBegin},
    {"barrier", Barrier},
    {"readers_gone", ReadersGone},
    {"bounded", Bounded},
    {"backoff", Backoff},
    {"two_pointers", TwoPointers},
    {"thread_local", ThreadLocal},
    {"bit_set", BitSet},
    {"bit_cleared", BitCleared},
    {"yield", Yield},
    {"sleep", Sleep},
    {"library_spinlock", LibrarySpinlock},
    {"reader_backs_off", ReaderBacksOff},
    {"try_in_function", TryInFunction},
    {"try_compare_in_function", TryCompareInFunction},
    {"narrow_flag", NarrowFlag},
    {"time_out", TimeOut},
    {NULL, NULL},
};
const struct Loop* const loop_lists[] = {loops, NULL};
