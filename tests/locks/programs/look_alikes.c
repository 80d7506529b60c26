// SPDX-License-Identifier: MIT
// Loops that look like waits at first sight and do not wait for another thread. Each ends by
// itself.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "loops.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static char text[400];
static char same_text[400];
static wchar_t wide_text[100];
static volatile uint64_t sink;

static NOINLINE size_t LengthOf(const char* at) {
  size_t length = 0;
  while (at[length] != 0) ++length;
  return length;
}
static void Strlen(void) { sink = LengthOf(text); }

static NOINLINE const char* Find(const char* at, char wanted, size_t size) {
  for (; size != 0; --size, ++at)
    if (*at == wanted) return at;
  return NULL;
}
static void Memchr(void) { sink = (uint64_t)Find(text, 'z', sizeof text); }

static NOINLINE int Compare(const char* a, const char* b) {
  while (*a != 0 && *a == *b) ++a, ++b;
  return *a - *b;
}
static void Strcmp(void) { sink = (uint64_t)Compare(text, same_text); }

static void LibraryStrings(void) {
  sink = strlen(text) + (uint64_t)strcmp(text, same_text) + (uint64_t)strchr(text, 'q') +
         (uint64_t)memcmp(text, same_text, 300) + wcslen(wide_text);
}

static NOINLINE size_t WideLength(const wchar_t* at) {
  const wchar_t* const begin = at;
  while (*at) ++at;
  return (size_t)(at - begin);
}
static void Wcslen(void) { sink = WideLength(wide_text); }

enum { kSlots = 256 };
static uint64_t table[kSlots];

static NOINLINE size_t ProbeLinear(uint64_t key) {
  size_t at = key % kSlots;
  while (table[at] != 0 && table[at] != key) at = (at + 1) % kSlots;
  return at;
}
static void HashLinear(void) {
  for (size_t i = 0; i < kSlots - 20; ++i) table[i] = 7777;
  sink = ProbeLinear(11);
}

static NOINLINE size_t ProbeQuadratic(uint64_t key) {
  size_t at = key % kSlots;
  for (size_t step = 1; table[at] != 0 && table[at] != key; ++step) at = (at + step) % kSlots;
  return at;
}
static void HashQuadratic(void) {
  for (size_t i = 0; i < 200; ++i) table[i] = 7777;
  sink = ProbeQuadratic(11);
}

// Slots that other threads may claim as well.
static _Atomic uint64_t claimed[kSlots];
static NOINLINE size_t Claim(uint64_t key) {
  size_t at = key % kSlots;
  for (;;) {
    uint64_t expected = 0;
    if (atomic_compare_exchange_strong(&claimed[at], &expected, key)) return at;
    at = (at + 1) % kSlots;
  }
}
static void HashClaim(void) {
  for (size_t i = 0; i < 60; ++i) sink = Claim(5);
}

struct Item {
  struct Item* next;
  long key;
  struct Item* other;
};
static struct Item items[100];

static void LinkItems(void) {
  for (size_t i = 0; i < 99; ++i) {
    items[i].next = &items[i + 1];
    items[i].key = (long)(i * 37 % 100);
  }
}

static NOINLINE struct Item* Walk(struct Item* at, long key) {
  while (at != NULL && at->key != key) at = at->next;
  return at;
}
static void ListWalk(void) {
  LinkItems();
  sink = (uint64_t)Walk(items, 1000);
}

static NOINLINE struct Item* WalkAtomically(struct Item* _Atomic* head, long key) {
  struct Item* at = atomic_load_explicit(head, memory_order_acquire);
  while (at != NULL) {
    if (at->key == key) break;
    at = __atomic_load_n(&at->next, __ATOMIC_ACQUIRE);
  }
  return at;
}
static struct Item* _Atomic first_item = items;
static void ListWalkAtomic(void) {
  LinkItems();
  sink = (uint64_t)WalkAtomically(&first_item, 1000);
}

static NOINLINE struct Item* Descend(struct Item* at, long key) {
  while (at != NULL && at->key != key) at = key < at->key ? at->next : at->other;
  return at;
}
static void TreeDescent(void) {
  LinkItems();
  for (size_t i = 0; i < 99; ++i) items[i].other = &items[i + 1];
  sink = (uint64_t)Descend(items, 1000);
}

static NOINLINE size_t Sentinel(uint64_t* values, size_t count, uint64_t wanted) {
  values[count] = wanted;
  size_t i = 0;
  while (values[i] != wanted) ++i;
  return i;
}
static void SentinelSearch(void) { sink = Sentinel(table, kSlots - 1, 99); }

static NOINLINE size_t Search(const uint64_t* values, size_t count, uint64_t wanted) {
  size_t low = 0;
  while (low < count) {
    const size_t middle = low + (count - low) / 2;
    if (values[middle] < wanted)
      low = middle + 1;
    else
      count = middle;
  }
  return low;
}
static void BinarySearch(void) {
  for (size_t i = 0; i < kSlots; ++i) table[i] = i * 3;
  for (uint64_t i = 0; i < 20; ++i) sink += Search(table, kSlots, i * 31);
}

static NOINLINE uint64_t Reject(uint64_t state) {
  do {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
  } while (state % 50 != 3);
  return state;
}
static void RandomInRegisters(void) { sink = Reject(Hidden(88172645463325252ULL)); }

static uint64_t random_state = 88172645463325252ULL;
static NOINLINE uint64_t NextRandom(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}
static void RandomInMemory(void) {
  while (NextRandom() % 50 != 3) {
  }
}

static NOINLINE uint32_t Congruential(uint32_t state) {
  while ((state >> 16) % 60 != 1) state = state * 1664525 + 1013904223;
  return state;
}
static void Lcg(void) { sink = Congruential((uint32_t)Hidden(12345)); }

static NOINLINE uint64_t Gcd(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
static void GreatestDivisor(void) { sink = Gcd(Hidden(12586269025), 7778742049); }

static NOINLINE unsigned Hailstones(uint64_t n) {
  unsigned steps = 0;
  for (; n != 1; ++steps) n = (n & 1) != 0 ? 3 * n + 1 : n / 2;
  return steps;
}
static void Collatz(void) { sink = Hailstones(Hidden(27)); }

static NOINLINE unsigned BitsOf(uint64_t n) {
  unsigned count = 0;
  while (n != 0) {
    n &= n - 1;
    ++count;
  }
  return count;
}
static void Popcount(void) { sink = BitsOf(Hidden(0x5555666677778888)); }

static NOINLINE uint32_t Checksum(const char* at, size_t size) {
  uint32_t crc = ~0U;
  for (size_t i = 0; i < size; ++i) {
    crc ^= (unsigned char)at[i];
    for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc;
}
static void Crc(void) { sink = Checksum(text, 60); }

static volatile bool done;
static atomic_bool done_atomic;
static uint64_t work_done;
static NOINLINE void DoWork(void) {
  if (++work_done > 100) done = true;
  if (work_done > 200) done_atomic = true;
}
static void WorkUntilDone(void) {
  while (!done) DoWork();
}
static void WorkUntilDoneAtomic(void) {
  while (!atomic_load_explicit(&done_atomic, memory_order_acquire)) DoWork();
}

static NOINLINE uint64_t Mix(uint64_t x) { return (x ^ x >> 31) * 0x9e3779b97f4a7c15; }
static void WorkInRegisters(void) {  // what it works out is in a register when the flag is set
  static volatile bool stop;
  uint64_t x = 1;
  for (int i = 0; !stop; ++i) {
    x = Mix(x);
    if (i > 60) break;
  }
  sink = x;
}

static atomic_size_t next_part;
static void WorkDistribution(void) {
  uint64_t sum = 0;
  size_t i = 0;
  while ((i = atomic_fetch_add(&next_part, 1)) < kSlots) sum += table[i];
  sink = sum;
}

static NOINLINE void UsePart(size_t i) { sink = i; }
static void DistributionCalls(void) {
  for (;;) {
    const size_t i = atomic_fetch_add(&next_part, 1);
    if (i > 600) break;
    UsePart(i);
  }
}

static void CountDown(void) {
  static atomic_int left = 100;
  while (atomic_fetch_sub(&left, 1) > 1) {
  }
}

static void CountDownPause(void) {
  static atomic_int left = 100;
  while (atomic_fetch_sub(&left, 1) > 1) Pause();
}

static struct Item* _Atomic pushed;
static void PopAll(void) {
  uint64_t sum = 0;
  for (int round = 0; round < 10; ++round) {
    LinkItems();
    atomic_store(&pushed, &items[80]);
    struct Item* at = NULL;
    while ((at = atomic_exchange(&pushed, NULL)) != NULL)
      for (; at != NULL; at = at->next) sum += (uint64_t)at->key;
  }
  sink = sum;
}

static void CompareExchangeAtOnce(void) {
  static atomic_int count;
  for (int i = 0; i < 50; ++i) {
    int value = atomic_load(&count);
    while (!atomic_compare_exchange_weak(&count, &value, value + 1)) {
    }
  }
}

static void LockUncontended(void) {
  static atomic_int lock;
  static volatile int guarded;
  for (int i = 0; i < 50; ++i) {
    while (atomic_exchange_explicit(&lock, 1, memory_order_acquire)) Pause();
    guarded = guarded + 1;
    atomic_store_explicit(&lock, 0, memory_order_release);
  }
}

static void PushUncontended(void) {
  static struct Item* _Atomic top;
  for (size_t i = 0; i < 50; ++i) {
    items[i].next = atomic_load(&top);
    while (!atomic_compare_exchange_weak(&top, &items[i].next, &items[i])) {
    }
  }
}

static void PopUncontended(void) {
  static struct Item* _Atomic top;
  LinkItems();
  atomic_store(&top, items);
  struct Item* at = atomic_load(&top);
  while (at != NULL) {
    if (atomic_compare_exchange_weak(&top, &at, at->next)) at = atomic_load(&top);
  }
}

static void DelayByTsc(void) {
  const uint64_t begin = Ticks();
  while (Ticks() - begin < 20000000) Pause();
}

static volatile uint64_t ticks_of_delay = 20000000;
static void DelayByTscOfMemory(void) {
  const uint64_t begin = Ticks();
  while (Ticks() - begin < ticks_of_delay) Pause();
}

static void DelayByClock(void) {
  struct timespec begin;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 20000000);
}

static void DelayByCounter(void) {
  for (volatile int i = 0; i < 100; ++i) Pause();
}

static volatile int delay_loops = 100;
static void DelayByCounterOfMemory(void) {
  for (int i = 0; i < delay_loops; ++i) Pause();
}

#if defined(__x86_64__)
__attribute__((target("rdrnd"))) static NOINLINE uint64_t HardwareRandom(void) {
  unsigned long long value = 0;
  do {
    while (!_rdrand64_step(&value)) {
    }
  } while (value % 16 != 3);
  return value;
}
static void Rdrand(void) {
  if (__builtin_cpu_supports("rdrnd")) sink = HardwareRandom();
}
#endif

struct Ring {
  volatile uint32_t head;
  volatile uint32_t tail;
  struct {
    volatile uint32_t done;
    uint32_t value;
  } entries[64];
};
static struct Ring ring;

static NOINLINE uint64_t PollRing(struct Ring* of) {  // as a network driver polls its descriptors
  uint64_t sum = 0;
  uint32_t at = 0;
  while (of->entries[at & 63].done != 0) {
    sum += of->entries[at & 63].value;
    ++at;
  }
  return sum;
}
static void RingPolled(void) {
  for (int i = 0; i < 60; ++i) ring.entries[i].done = 1;
  sink = PollRing(&ring);
}

static void RingConsumed(void) {
  ring.head = 50;
  ring.tail = 0;
  uint64_t sum = 0;
  while (ring.tail != ring.head) {
    sum += ring.entries[ring.tail & 63].value;
    ring.tail = ring.tail + 1;
  }
  sink = sum;
}

static NOINLINE size_t Characters(const char* at) {
  size_t count = 0;
  for (; *at != 0; ++at)
    if ((*at & 0xc0) != 0x80) ++count;
  return count;
}
static void Utf8(void) { sink = Characters(text); }

static NOINLINE size_t FirstBit(const uint64_t* words, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (words[i] != 0) return i * 64 + (size_t)__builtin_ctzll(words[i]);
  return count * 64;
}
static NOINLINE size_t EachBit(uint64_t word) {
  size_t sum = 0;
  while (word != 0) {
    sum += (size_t)__builtin_ctzll(word);
    word &= word - 1;
  }
  return sum;
}
static void Bitmap(void) {
  memset(table, 0, sizeof table);
  table[200] = 0x8000;
  sink = FirstBit(table, kSlots) + EachBit(Hidden(0x123456789abcdef));
}

static NOINLINE void Copy(char* to, const char* from, size_t size) {
  for (size_t i = 0; i < size; ++i) to[i] = from[i];
}
static void Memcpy(void) {
  Copy(same_text, text, 300);
  memmove(same_text + 1, same_text, 300);
}

#if defined(__x86_64__)
static void RepMovs(void) {
  void* to = same_text;
  const void* from = text;
  size_t count = 300;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count)::"memory");
  count = 100;
  from = text;
  __asm__ volatile("1: lodsb; test %%al, %%al; loopne 1b"
                   : "+S"(from), "+c"(count)::"rax", "memory");
  to = text;
  count = 300;
  __asm__ volatile("xor %%eax, %%eax; repne scasb" : "+D"(to), "+c"(count)::"rax", "memory");
}
#endif

static NOINLINE uint16_t InternetSum(const uint16_t* at, size_t count) {
  uint32_t sum = 0;
  while (count-- != 0) sum += *at++;
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return (uint16_t)~sum;
}
static void InternetChecksum(void) { sink = InternetSum((const uint16_t*)text, 150); }

static NOINLINE long Interpret(const unsigned char* code) {
  static const void* const labels[] = {&&end, &&increment, &&twice, &&jump_back};
  long value = 0;
  long rounds = 0;
  const unsigned char* at = code;
  goto* labels[*at++];
increment:
  ++value;
  goto* labels[*at++];
twice:
  value = value * 3 / 2;
  goto* labels[*at++];
jump_back:
  if (++rounds < 10) at = code;
  goto* labels[*at++];
end:
  return value;
}
static NOINLINE long InterpretBySwitch(const unsigned char* code) {
  long value = 0;
  for (;;) {
    switch (*code++) {
      case 0:
        return value;
      case 1:
        ++value;
        break;
      case 2:
        value = value * 3 / 2;
        break;
      case 3:
        value ^= 21;
        break;
      case 4:
        value += code[0];
        break;
      default:
        return -1;
    }
  }
}
static void Interpreter(void) {
  static const unsigned char code[] = {1, 2, 1, 1, 2, 3, 0};
  static const unsigned char more[] = {1, 2, 3, 4, 1, 1, 2, 3, 4, 2, 1, 3, 2, 4, 3, 1, 2, 0};
  sink = (uint64_t)(Interpret(code) + InterpretBySwitch(more));
}

static NOINLINE double Converge(double x) {
  double guess = x;
  double before = 0;
  while (fabs(guess - before) > 1e-12) {
    before = guess;
    guess = (guess + x / guess) / 2;
  }
  return guess;
}
static void SquareRoot(void) { sink = (uint64_t)Converge(1e60); }

static void Matrices(void) {
  static double a[6][6], b[6][6], c[6][6];
  for (int i = 0; i < 6; ++i)
    for (int k = 0; k < 6; ++k)
      for (int m = 0; m < 6; ++m) c[i][k] += a[i][m] * b[m][k];
  sink = (uint64_t)c[2][3];
}

static NOINLINE double Trace(const double* values, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i * 3];
  return sum;
}
static void SumOfDiagonal(void) {
  static double values[300];
  sink = (uint64_t)Trace(values, 100);
}

static void ReadUntilEmpty(void) {
  int ends[2];
  if (pipe2(ends, O_NONBLOCK) != 0) return;
  char byte = 'x';
  for (int i = 0; i < 10; ++i) sink += (uint64_t)write(ends[1], &byte, 1);
  while (read(ends[0], &byte, 1) == 1) {
  }
  sink += (uint64_t)errno;
}

static void PollWithoutTime(void) {
  int ends[2];
  if (pipe(ends) != 0) return;
  struct pollfd one = {.fd = ends[0], .events = POLLIN};
  for (int i = 0; i < 10 && poll(&one, 1, 0) == 0; ++i) Pause();
}

static NOINLINE size_t Words(const char* at) {
  static unsigned char kinds[256];
  kinds[' '] = 1;
  kinds['\n'] = 1;
  size_t count = 0;
  while (*at != 0) {
    while (kinds[(unsigned char)*at] == 1) ++at;
    if (*at == 0) break;
    ++count;
    while (*at != 0 && kinds[(unsigned char)*at] == 0) ++at;
  }
  return count;
}
static void Parser(void) { sink = Words(text); }

static NOINLINE unsigned Digits(uint64_t n) {
  unsigned count = 1;
  while (n >= 10) {
    n /= 10;
    ++count;
  }
  return count;
}
static void DecimalDigits(void) { sink = Digits(Hidden(12345678901234567890ULL)); }

static NOINLINE size_t FindPair(const char* at, size_t size) {  // neighbours that are the same
  size_t i = 1;
  while (i < size && at[i] != at[i - 1]) ++i;
  return i;
}
static void Neighbours(void) { sink = FindPair(text, 300); }

static NOINLINE uint64_t Indices(const unsigned char* next) {  // a list by indices, as a FAT is
  uint64_t at = 1;
  uint64_t count = 0;
  while (at != 0) {
    at = next[at];
    ++count;
  }
  return count;
}
static void IndexChain(void) {
  static unsigned char chain[256];
  for (int i = 1; i < 200; ++i) chain[i] = (unsigned char)(i + 1);
  sink = Indices(chain);
}

static void ConfiguredCount(void) {  // asks a setting with each round
  static volatile int verbose;
  static volatile int count = 60;
  uint64_t sum = 1;
  for (int i = 0; i < count; ++i) {
    if (verbose) DoWork();
    sum = sum * 31 + (uint64_t)i;
  }
  sink = sum;
}

static NOINLINE uint64_t Fibonacci(unsigned n) {
  uint64_t a = 0;
  uint64_t b = 1;
  while (n-- != 0) {
    const uint64_t next = a + b;
    a = b;
    b = next;
  }
  return a;
}
static void FibonacciSum(void) { sink = Fibonacci((unsigned)Hidden(80)); }

#if defined(__x86_64__)
static void VectorScan(void) {  // sixteen bytes at a time
  const __m128i zero = _mm_setzero_si128();
  const char* at = text;
  while (_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i*)at), zero)) == 0)
    at += 16;
  sink = (uint64_t)at;
}
#endif

static NOINLINE int Ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return Ackermann(m - 1, 1);
  return Ackermann(m - 1, Ackermann(m, n - 1));
}
static void Recursion(void) { sink = (uint64_t)Ackermann(2, 3); }

static NOINLINE void Sort(uint64_t* values, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    const uint64_t value = values[i];
    size_t k = i;
    for (; k > 0 && values[k - 1] > value; --k) values[k] = values[k - 1];
    values[k] = value;
  }
}
static void InsertionSort(void) {
  for (size_t i = 0; i < 20; ++i) table[i] = 20 - i;
  Sort(table, 20);
}

static NOINLINE int Leap(const int* jumps, int at) {  // an automaton
  while (at >= 0) at = jumps[at];
  return at;
}
static void Automaton(void) {
  static int jumps[100];
  for (int i = 0; i < 100; ++i) jumps[i] = i + 1;
  jumps[99] = -1;
  sink = (uint64_t)Leap(jumps, 0);
}

static NOINLINE uint64_t Sieve(unsigned limit) {
  static bool composite[100];
  uint64_t sum = 0;
  for (unsigned i = 2; i < limit; ++i) {
    if (composite[i]) continue;
    sum += i;
    for (unsigned k = i * i; k < limit; k += i) composite[k] = true;
  }
  return sum;
}
static void Primes(void) { sink = Sieve(100); }

atomic_int references = 1;
static void ReferenceCounts(void) {
  for (int i = 0; i < 40; ++i) {
    atomic_fetch_add_explicit(&references, 1, memory_order_relaxed);
    if (atomic_fetch_sub_explicit(&references, 1, memory_order_acq_rel) == 1) break;
  }
}

atomic_int progress_made;
atomic_bool progress_stops;
static void SequentialStores(void) {
  for (int i = 0; i < 40 && !atomic_load(&progress_stops); ++i) atomic_store(&progress_made, i);
}

atomic_uint free_sequence;
uint64_t guarded_pair[2];
static void SeqlockUncontended(void) {
  uint64_t sum = 0;
  for (int i = 0; i < 40; ++i) {
    unsigned begin = 0;
    do {
      begin = atomic_load_explicit(&free_sequence, memory_order_acquire);
      sum += guarded_pair[0] + guarded_pair[1];
      atomic_thread_fence(memory_order_acquire);
    } while ((begin & 1) != 0 ||
             begin != atomic_load_explicit(&free_sequence, memory_order_relaxed));
  }
  sink = sum;
}

static void AllocateAndFree(void) {
  void* kept[20];
  for (int i = 0; i < 20; ++i) kept[i] = malloc(100);
  for (int i = 0; i < 20; ++i) free(kept[i]);
}

static void Format(void) {
  char out[100];
  for (int i = 0; i < 5; ++i)
    sink = (uint64_t)snprintf(out, sizeof out, "%d %s %g", i, "abc", i / 7.0);
}

static void ParseNumber(void) {
  sink = strtoul("123456789012", NULL, 10) + (uint64_t)atof("1.25e3");
}

static int Order(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }
static void LibrarySort(void) {
  int values[30];
  for (int i = 0; i < 30; ++i) values[i] = i * 17 % 30;
  qsort(values, 30, sizeof values[0], Order);
  const int wanted = 7;
  sink = (uint64_t)bsearch(&wanted, values, 30, sizeof values[0], Order);
}

static void Prepare(void) __attribute__((constructor));
static void Prepare(void) {
  for (size_t i = 0; i < sizeof text - 1; ++i) text[i] = (char)(i % 7 == 6 ? ' ' : 'a' + i % 13);
  memcpy(same_text, text, sizeof text);
  for (size_t i = 0; i < 99; ++i) wide_text[i] = L'w';
}

const struct Loop loops[] = {
    {"strlen", Strlen},
    {"memchr", Memchr},
    {"strcmp", Strcmp},
    {"library_strings", LibraryStrings},
    {"wcslen", Wcslen},
    {"hash_linear", HashLinear},
    {"hash_quadratic", HashQuadratic},
    {"hash_claim", HashClaim},
    {"list_walk", ListWalk},
    {"list_walk_atomic", ListWalkAtomic},
    {"tree_descent", TreeDescent},
    {"sentinel_search", SentinelSearch},
    {"binary_search", BinarySearch},
    {"random_in_registers", RandomInRegisters},
    {"random_in_memory", RandomInMemory},
    {"lcg", Lcg},
    {"greatest_divisor", GreatestDivisor},
    {"collatz", Collatz},
    {"popcount", Popcount},
    {"crc", Crc},
    {"work_until_done", WorkUntilDone},
    {"work_until_done_atomic", WorkUntilDoneAtomic},
    {"work_in_registers", WorkInRegisters},
    {"work_distribution", WorkDistribution},
    {"distribution_calls", DistributionCalls},
    {"count_down", CountDown},
    {"count_down_pause", CountDownPause},
    {"pop_all", PopAll},
    {"compare_exchange_at_once", CompareExchangeAtOnce},
    {"lock_uncontended", LockUncontended},
    {"push_uncontended", PushUncontended},
    {"pop_uncontended", PopUncontended},
    {"delay_by_tsc", DelayByTsc},
    {"delay_by_tsc_of_memory", DelayByTscOfMemory},
    {"delay_by_clock", DelayByClock},
    {"delay_by_counter", DelayByCounter},
    {"delay_by_counter_of_memory", DelayByCounterOfMemory},
    {"ring_polled", RingPolled},
    {"ring_consumed", RingConsumed},
    {"utf8", Utf8},
    {"bitmap", Bitmap},
    {"memcpy", Memcpy},
    {"internet_checksum", InternetChecksum},
    {"interpreter", Interpreter},
    {"square_root", SquareRoot},
    {"matrices", Matrices},
    {"sum_of_diagonal", SumOfDiagonal},
    {"read_until_empty", ReadUntilEmpty},
    {"poll_without_time", PollWithoutTime},
    {"parser", Parser},
    {"decimal_digits", DecimalDigits},
    {"neighbours", Neighbours},
    {"index_chain", IndexChain},
    {"configured_count", ConfiguredCount},
    {"fibonacci", FibonacciSum},
    {"recursion", Recursion},
    {"insertion_sort", InsertionSort},
    {"automaton", Automaton},
    {"primes", Primes},
    {"reference_counts", ReferenceCounts},
    {"sequential_stores", SequentialStores},
    {"seqlock_uncontended", SeqlockUncontended},
    {"allocate_and_free", AllocateAndFree},
    {"format", Format},
    {"parse_number", ParseNumber},
    {"library_sort", LibrarySort},
#if defined(__x86_64__)
    {"rdrand", Rdrand},
    {"rep_movs", RepMovs},
    {"vector_scan", VectorScan},
#endif
    {NULL, NULL},
};
