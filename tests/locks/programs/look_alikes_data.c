// SPDX-License-Identifier: MIT
// Look-alikes that go through data: strings, tables, lists, text.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "look_alikes.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

// A table that is being moved to a larger one: what is not in the first may be in the second.
struct Tables {
  const uint64_t* slots[2];
  int64_t moved;  // slots of the first that are moved; -1: it is not being moved
};
static NOINLINE const uint64_t* FindInTables(const struct Tables* tables, uint64_t key) {
  for (size_t i = 0; i <= 1; ++i) {
    const uint64_t* slot = &tables->slots[i][key % kSlots];
    if (*slot == key) return slot;
    if (tables->moved == -1) break;
  }
  return NULL;
}
static void TwoTables(void) {
  struct Tables tables = {{table, table}, (int64_t)Hidden(3)};
  for (uint64_t key = 11; key < 40; ++key) sink = FindInTables(&tables, key) != NULL;
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

#if defined(__x86_64__)
static void VectorScan(void) {  // sixteen bytes at a time
  const __m128i zero = _mm_setzero_si128();
  const char* at = text;
  while (_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i*)at), zero)) == 0)
    at += 16;
  sink = (uint64_t)at;
}
#endif

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

const struct Loop data_look_alikes[] = {
    {"strlen", Strlen},
    {"memchr", Memchr},
    {"strcmp", Strcmp},
    {"library_strings", LibraryStrings},
    {"wcslen", Wcslen},
    {"hash_linear", HashLinear},
    {"hash_quadratic", HashQuadratic},
    {"two_tables", TwoTables},
    {"list_walk", ListWalk},
    {"list_walk_atomic", ListWalkAtomic},
    {"tree_descent", TreeDescent},
    {"sentinel_search", SentinelSearch},
    {"binary_search", BinarySearch},
    {"utf8", Utf8},
    {"bitmap", Bitmap},
    {"memcpy", Memcpy},
    {"interpreter", Interpreter},
    {"parser", Parser},
    {"neighbours", Neighbours},
    {"index_chain", IndexChain},
    {"insertion_sort", InsertionSort},
    {"automaton", Automaton},
    {"allocate_and_free", AllocateAndFree},
    {"format", Format},
    {"parse_number", ParseNumber},
    {"library_sort", LibrarySort},
#if defined(__x86_64__)
    {"rep_movs", RepMovs},
    {"vector_scan", VectorScan},
#endif
    {NULL, NULL},
};
