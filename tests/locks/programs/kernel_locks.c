// SPDX-License-Identifier: MIT
// kernel_locks SCENE: locks as kernels build them, taken by one processor. A judge steps the
// program, does what the other processors would do (struct Deed), and traces the same instructions
// as a kernel's. Without an argument: lists the scenes.
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "loops.h"

#define ACQUIRE memory_order_acquire
#define RELAXED memory_order_relaxed
#define RELEASE memory_order_release

// What another processor writes, so many pauses and switches after what it wrote before.
struct Deed {
  uint64_t pauses;
  uint64_t switches;
  void* place;
  uint64_t value;
  uint64_t size;  // bytes
};
static struct Deed deeds[8];
static uint64_t deed_count;

static void Plan(uint64_t pauses, uint64_t switches, void* place, uint64_t value, uint64_t size) {
  deeds[deed_count++] = (struct Deed){pauses, switches, place, value, size};
}

// The judge stops here before the scene and after it.
static NOINLINE void Begin(void) {
  __asm__ volatile("int3" ::"D"(deeds), "S"(deed_count) : "memory");
}

static _Thread_local atomic_int resched_wanted;
static int WantsResched(void) { return atomic_load_explicit(&resched_wanted, RELAXED); }

// ---- Another thread runs on the processor ----

// The judge goes to another thread at the exchange that does nothing.
NOINLINE void switch_threads(void) { __asm__ volatile("xchg %%bx, %%bx" ::: "memory"); }

static _Thread_local volatile long switches;
NOINLINE void run_others(void) {
  switches = switches + 1;
  switch_threads();
}

NOINLINE void idle(long rounds) {
  for (long i = 0; i < rounds; ++i) run_others();
}

// ---- A spinlock: a byte that says it is taken, one for the first that waits, a queue behind ----

struct Queued {
  union {
    _Atomic uint32_t all;
    struct {
      _Atomic uint16_t front;
      _Atomic uint16_t tail;
    };
    _Atomic uint8_t taken;
  };
};
enum { kTaken = 1, kTakenMask = 0xff, kFirst = 0x100, kFirstMask = 0xff00, kFrontMask = 0xffff };

struct Place {
  struct Place* _Atomic next;
  atomic_int go;
};
struct Place places[3];
enum { kOwn = 1 };

static void queue_up(struct Queued* lock) {
  struct Place* own = &places[kOwn];
  atomic_store_explicit(&own->go, 0, RELAXED);
  atomic_store_explicit(&own->next, NULL, RELAXED);
  const unsigned before = atomic_exchange(&lock->tail, kOwn);
  if (before != 0) {
    atomic_store_explicit(&places[before].next, own, RELAXED);
    while (!atomic_load_explicit(&own->go, ACQUIRE)) Pause();
  }
  uint32_t value = atomic_load_explicit(&lock->all, ACQUIRE);
  while (value & kFrontMask) {
    Pause();
    value = atomic_load_explicit(&lock->all, ACQUIRE);
  }
  if (value >> 16 == kOwn && atomic_compare_exchange_strong(&lock->all, &value, kTaken)) return;
  atomic_store_explicit(&lock->taken, kTaken, RELAXED);
  struct Place* next = atomic_load_explicit(&own->next, RELAXED);
  while (next == NULL) {
    Pause();
    next = atomic_load_explicit(&own->next, RELAXED);
  }
  atomic_store_explicit(&next->go, 1, RELEASE);
}

NOINLINE void take_queued_slowly(struct Queued* lock, uint32_t value) {
  if (value & ~(uint32_t)kTakenMask) return queue_up(lock);
  value = atomic_fetch_or_explicit(&lock->all, kFirst, ACQUIRE);
  if (value & ~(uint32_t)kTakenMask) {
    if (!(value & kFirstMask)) atomic_fetch_and(&lock->all, ~(uint32_t)kFirstMask);
    return queue_up(lock);
  }
  if (value & kTakenMask)
    while (atomic_load_explicit(&lock->all, ACQUIRE) & kTakenMask) Pause();
  atomic_store_explicit(&lock->front, kTaken, RELAXED);
}

NOINLINE void take_queued(struct Queued* lock) {
  uint32_t free = 0;
  if (!atomic_compare_exchange_strong_explicit(&lock->all, &free, kTaken, ACQUIRE, RELAXED))
    take_queued_slowly(lock, free);
}

NOINLINE void free_queued(struct Queued* lock) { atomic_store_explicit(&lock->taken, 0, RELEASE); }

// ---- A queue of those that spin for a lock on which others sleep; who is to leave leaves it ----

struct Spinner {
  struct Spinner* _Atomic next;
  struct Spinner* _Atomic before;
  atomic_int go;
  atomic_int runs;
};
struct Spinner spinners[3];
struct SpinnerQueue {
  atomic_int tail;
};

static int leave_spinners(struct SpinnerQueue* queue, struct Spinner* own) {
  for (;;) {
    struct Spinner* before = atomic_load(&own->before);
    struct Spinner* expected = own;
    if (atomic_load_explicit(&before->next, RELAXED) == own &&
        atomic_compare_exchange_strong(&before->next, &expected, NULL))
      break;
    if (atomic_load_explicit(&own->go, ACQUIRE)) return 1;
    Pause();
  }
  int tail = kOwn;
  atomic_compare_exchange_strong(&queue->tail, &tail, (int)(atomic_load(&own->before) - spinners));
  return 0;
}

NOINLINE int join_spinners(struct SpinnerQueue* queue) {
  struct Spinner* own = &spinners[kOwn];
  atomic_store_explicit(&own->go, 0, RELAXED);
  atomic_store_explicit(&own->next, NULL, RELAXED);
  const int tail = atomic_exchange(&queue->tail, kOwn);
  if (tail == 0) return 1;
  struct Spinner* before = &spinners[tail];
  atomic_store_explicit(&own->before, before, RELAXED);
  atomic_store_explicit(&before->next, own, RELEASE);
  while (!atomic_load_explicit(&own->go, ACQUIRE)) {
    if (WantsResched() || !atomic_load_explicit(&before->runs, RELAXED))
      return leave_spinners(queue, own);
    Pause();
  }
  return 1;
}

NOINLINE void quit_spinners(struct SpinnerQueue* queue) {
  int tail = kOwn;
  if (atomic_compare_exchange_strong(&queue->tail, &tail, 0)) return;
  struct Spinner* next = atomic_exchange(&spinners[kOwn].next, NULL);
  if (next != NULL) atomic_store_explicit(&next->go, 1, RELEASE);
}

// ---- A mutex: spins while its owner runs, else sleeps ----

struct Task {
  atomic_int runs;
};
struct Task own_task = {1}, other_task = {1};
struct Mutex {
  struct Task* _Atomic owner;
  struct Queued list_lock;
  struct SpinnerQueue spinners;
  long sleepers;
};

static int try_mutex(struct Mutex* mutex) {
  struct Task* nobody = NULL;
  return atomic_compare_exchange_strong_explicit(&mutex->owner, &nobody, &own_task, ACQUIRE,
                                                 RELAXED);
}

NOINLINE int spin_on_owner(struct Mutex* mutex, struct Task* owner) {
  while (atomic_load_explicit(&mutex->owner, RELAXED) == owner) {
    if (!atomic_load_explicit(&owner->runs, RELAXED) || WantsResched()) return 0;
    Pause();
  }
  return 1;
}

static int spin_for_mutex(struct Mutex* mutex) {
  if (!join_spinners(&mutex->spinners)) return 0;
  int got = 0;
  for (;;) {
    struct Task* owner = atomic_load_explicit(&mutex->owner, RELAXED);
    if (owner == NULL) {
      if (try_mutex(mutex)) {
        got = 1;
        break;
      }
    } else if (!spin_on_owner(mutex, owner)) {
      break;
    }
    Pause();
  }
  quit_spinners(&mutex->spinners);
  return got;
}

NOINLINE void take_mutex_slowly(struct Mutex* mutex) {
  if (spin_for_mutex(mutex)) return;
  take_queued(&mutex->list_lock);
  ++mutex->sleepers;
  while (!try_mutex(mutex)) {
    free_queued(&mutex->list_lock);
    run_others();
    take_queued(&mutex->list_lock);
  }
  --mutex->sleepers;
  free_queued(&mutex->list_lock);
}

NOINLINE void take_mutex(struct Mutex* mutex) {
  if (!try_mutex(mutex)) take_mutex_slowly(mutex);
}

NOINLINE void free_mutex(struct Mutex* mutex) {
  atomic_exchange_explicit(&mutex->owner, NULL, RELEASE);
}

// ---- A lock for one writer or many readers, on which threads sleep ----

struct Sem {
  _Atomic long count;  // readers, 256 each; 1: a writer
  struct Task* _Atomic owner;
  struct SpinnerQueue spinners;
};
enum { kWriter = 1, kReader = 256 };

NOINLINE int spin_on_writer(struct Sem* sem) {
  struct Task* owner = atomic_load_explicit(&sem->owner, RELAXED);
  if (owner == NULL) return 1;
  while (atomic_load_explicit(&sem->owner, RELAXED) == owner) {
    if (WantsResched() || !atomic_load_explicit(&owner->runs, RELAXED)) return 0;
    Pause();
  }
  return 1;
}

NOINLINE void write_sem_slowly(struct Sem* sem) {
  if (join_spinners(&sem->spinners)) {
    for (;;) {
      if (!spin_on_writer(sem)) break;
      long none = 0;
      if (atomic_load_explicit(&sem->count, RELAXED) == 0 &&
          atomic_compare_exchange_strong(&sem->count, &none, kWriter)) {
        quit_spinners(&sem->spinners);
        return;
      }
      Pause();
    }
    quit_spinners(&sem->spinners);
  }
  for (;;) {
    long none = 0;
    if (atomic_compare_exchange_strong(&sem->count, &none, kWriter)) return;
    run_others();
  }
}

NOINLINE void write_sem(struct Sem* sem) {
  long none = 0;
  if (!atomic_compare_exchange_strong(&sem->count, &none, kWriter)) write_sem_slowly(sem);
}

NOINLINE void read_sem_slowly(struct Task* _Atomic* waiter) {
  while (atomic_load_explicit(waiter, ACQUIRE) != NULL) run_others();
}

static struct Task* _Atomic reader;
NOINLINE void read_sem(struct Sem* sem) {
  if ((atomic_fetch_add(&sem->count, kReader) & kWriter) == 0) return;
  atomic_store(&reader, &own_task);
  read_sem_slowly(&reader);
}

// ---- Smaller ones ----

NOINLINE unsigned begin_sequence(atomic_uint* sequence) {
  unsigned at = atomic_load_explicit(sequence, ACQUIRE);
  while (at & 1) {
    Pause();
    at = atomic_load_explicit(sequence, ACQUIRE);
  }
  return at;
}

NOINLINE long read_sequence(atomic_uint* sequence, const volatile long* value) {
  for (;;) {
    const unsigned begin = begin_sequence(sequence);
    const long read = *value;
    if (atomic_load_explicit(sequence, ACQUIRE) == begin) return read;
  }
}

NOINLINE void take_bit(atomic_ulong* bits) {
  while (atomic_fetch_or_explicit(bits, 1, ACQUIRE) & 1) do
      Pause();
    while (atomic_load_explicit(bits, RELAXED) & 1);
}

NOINLINE void write_queued_readers(atomic_uint* count) {
  for (;;) {
    unsigned waiting = kFirst;
    while (atomic_load_explicit(count, ACQUIRE) != kFirst) Pause();
    if (atomic_compare_exchange_strong_explicit(count, &waiting, kTakenMask, ACQUIRE, RELAXED))
      return;
  }
}

// ---- Waiting in the processor, by instructions that few have ----

// The judge takes each of these NOPs for the instruction.
#define NOP_FOR(number, ...) \
  __asm__ volatile(".byte 0x0f, 0x1f, 0x40, " #number : : __VA_ARGS__ : "cc", "memory")
static inline void Tpause(uint64_t until) {
  NOP_FOR(0x11, "c"(0), "a"((uint32_t)until), "d"((uint32_t)(until >> 32)));
}
static inline void Umwait(uint64_t until) {
  NOP_FOR(0x12, "c"(0), "a"((uint32_t)until), "d"((uint32_t)(until >> 32)));
}
static inline void Umonitor(const void* address) { NOP_FOR(0x13, "a"(address)); }

NOINLINE void wait_by_tpause(atomic_uint* taken) {
  while (atomic_load_explicit(taken, ACQUIRE)) Tpause(Ticks() + 500);
}

NOINLINE unsigned wait_by_umwait(atomic_uint* changes, unsigned known) {
  for (;;) {
    unsigned now = atomic_load_explicit(changes, ACQUIRE);
    if (now != known) return now;
    Umonitor(changes);
    now = atomic_load_explicit(changes, ACQUIRE);
    if (now != known) return now;
    Umwait(Ticks() + 100000);
  }
}

// Lets time pass, and waits for nobody.
NOINLINE void delay_by_tpause(unsigned long ticks) {
  const uint64_t end = Ticks() + ticks;
  while (Ticks() < end) Tpause(end);
}

// ---- A lock of user code, which sleeps in the kernel ----

NOINLINE void enter_kernel(void) { run_others(); }
static void (*volatile system_call)(void) = enter_kernel;

// It has the name of C's own function, by which it is known.
NOINLINE void mtx_lock(atomic_uint* taken) {
  while (atomic_load_explicit(taken, ACQUIRE)) system_call();
}

// ---- Scenes ----

static struct Queued spinlock;
static struct Mutex mutex;
static struct Sem sem;
static atomic_uint word;
static atomic_ulong bits;
static long data;
struct Place other_place;

static void PlanFirst(void) {
  atomic_store(&spinlock.all, kTaken);
  Plan(700, 0, &spinlock.taken, 0, 1);
}
static void PlanQueue(void) {
  atomic_store(&spinlock.all, 2 << 16 | kFirst | kTaken);
  Plan(300, 0, &places[kOwn].go, 1, 4);
  Plan(200, 0, &spinlock.front, 0, 2);
}
static void PlanQueueWithNext(void) {
  atomic_store(&spinlock.all, kFirst | kTaken);
  Plan(150, 0, &spinlock.all, 2 << 16, 4);
  Plan(50, 0, &places[kOwn].next, (uint64_t)&other_place, 8);
}
static void Spinlock(void) { take_queued(&spinlock); }

static void PlanSpinners(void) {
  atomic_store(&mutex.spinners.tail, 2);
  atomic_store(&spinners[2].runs, 1);
  Plan(400, 0, &spinners[kOwn].go, 1, 4);
}
static void PlanSpin(void) {
  PlanSpinners();
  atomic_store(&mutex.owner, &other_task);
  Plan(500, 0, &mutex.owner, 0, 8);
}
static void PlanSleep(void) {
  atomic_store(&mutex.owner, &other_task);
  Plan(250, 0, &other_task.runs, 0, 4);
  Plan(0, 2, &mutex.owner, 0, 8);
}
static void Mutex(void) {
  take_mutex(&mutex);
  free_mutex(&mutex);
}
static volatile long held;
NOINLINE void hold(void) { held = held + 1; }
static void MutexFree(void) {
  take_mutex(&mutex);
  for (int i = 0; i < 30; ++i) hold();
  free_mutex(&mutex);
}

static void MutexAway(void) {
  take_mutex(&mutex);
  hold();
  run_others();
  for (int i = 0; i < 30; ++i) hold();
  free_mutex(&mutex);
}

static void PlanWriter(void) {
  atomic_store(&sem.count, kWriter);
  atomic_store(&sem.owner, &other_task);
  Plan(350, 0, &sem.owner, 0, 8);
  Plan(2, 0, &sem.count, 0, 8);
}
static void PlanWriterSleeps(void) {
  atomic_store(&sem.count, kReader);
  atomic_store(&sem.owner, &other_task);
  atomic_store(&other_task.runs, 0);
  Plan(0, 1, &sem.count, 0, 8);
}
static void Writer(void) { write_sem(&sem); }
static void PlanReader(void) {
  atomic_store(&sem.count, kWriter);
  Plan(0, 1, &reader, 0, 8);
}
static void Reader(void) { read_sem(&sem); }

static void PlanSequence(void) {
  atomic_store(&word, 7);
  Plan(120, 0, &word, 8, 4);
}
static void Sequence(void) { read_sequence(&word, &data); }
static void PlanBit(void) {
  atomic_store(&bits, 5);
  Plan(90, 0, &bits, 4, 8);
}
static void Bit(void) { take_bit(&bits); }
static void PlanReadersGone(void) {
  atomic_store(&word, kFirst | 2 << 16);
  Plan(80, 0, &word, kFirst, 4);
}
static void ReadersGone(void) { write_queued_readers(&word); }
static void PlanTpause(void) {
  atomic_store(&word, 1);
  Plan(110, 0, &word, 0, 4);
}
static void ByTpause(void) { wait_by_tpause(&word); }
static void PlanUmwait(void) {
  atomic_store(&word, 5);
  Plan(130, 0, &word, 6, 4);
}
static void ByUmwait(void) { wait_by_umwait(&word, 5); }
static void DelayByTpause(void) { delay_by_tpause(30000000); }
static void PlanUser(void) {
  atomic_store(&word, 1);
  Plan(0, 2, &word, 0, 4);
}
NOINLINE void take_in_user_code(void) {
  mtx_lock(&word);
  __asm__ volatile("" ::: "memory");
}
static void PlanNothing(void) {}
static void Idle(void) { idle(12); }

static const struct Scene {
  const char* name;
  void (*plan)(void);
  void (*run)(void);
} scenes[] = {
    {"first", PlanFirst, Spinlock},
    {"queue", PlanQueue, Spinlock},
    {"queue_with_next", PlanQueueWithNext, Spinlock},
    {"mutex_free", PlanNothing, MutexFree},
    {"mutex_away", PlanNothing, MutexAway},
    {"mutex_spins", PlanSpin, Mutex},
    {"mutex_sleeps", PlanSleep, Mutex},
    {"writer_spins", PlanWriter, Writer},
    {"writer_sleeps", PlanWriterSleeps, Writer},
    {"reader_sleeps", PlanReader, Reader},
    {"sequence", PlanSequence, Sequence},
    {"bit", PlanBit, Bit},
    {"readers_gone", PlanReadersGone, ReadersGone},
    {"tpause", PlanTpause, ByTpause},
    {"umwait", PlanUmwait, ByUmwait},
    {"tpause_delays", PlanNothing, DelayByTpause},
    {"user", PlanUser, take_in_user_code},
    {"idle", PlanNothing, Idle},
};

// As the thread's first function in the kernel.
NOINLINE void work(const struct Scene* scene) {
  scene->run();
  __asm__ volatile("" ::: "memory");
}

int main(int count, char** words) {
  for (const struct Scene* scene = scenes; scene != scenes + sizeof scenes / sizeof *scenes;
       ++scene) {
    if (count < 2) {
      puts(scene->name);
    } else if (strcmp(scene->name, words[1]) == 0) {
      scene->plan();
      Begin();
      work(scene);
      Mark();
      return 0;
    }
  }
  return count < 2 ? 0 : 1;
}
