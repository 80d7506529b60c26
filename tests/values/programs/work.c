// SPDX-License-Identifier: MIT
// Does what programs do (lists, tables, text, sorting, recursion, allocation), and dies of a null
// pointer at its end. A breakpoint says where a test begins to look.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
  char name[24];
  unsigned hash;
  struct item* next;
};

static struct item* table[16];
static char text[4096];

__attribute__((noinline)) static unsigned HashOf(const char* name) {
  unsigned hash = 5381;
  while (*name != 0) hash = (hash << 5 | hash >> 27) ^ (unsigned char)*name++;
  return hash;
}

__attribute__((noinline)) static struct item* Put(const char* prefix, int number) {
  struct item* one = calloc(1, sizeof *one);
  snprintf(one->name, sizeof one->name, "%s-%04d", prefix, number);
  one->hash = HashOf(one->name);
  one->next = table[one->hash % 16];
  table[one->hash % 16] = one;
  return one;
}

static int ByHash(const void* a, const void* b) {
  const struct item* one = *(struct item* const*)a;
  const struct item* other = *(struct item* const*)b;
  return one->hash < other->hash ? -1 : one->hash > other->hash;
}

__attribute__((noinline)) static long Walk(int depth, long sum) {
  switch (depth % 5) {
    case 0:
      sum += depth;
      break;
    case 1:
      sum ^= (long)depth << 7;
      break;
    case 2:
      sum = sum * 31 - depth;
      break;
    case 3:
      sum /= 3;
      break;
    default:
      sum = -sum;
  }
  return depth == 0 ? sum : Walk(depth - 1, sum) + 1;
}

__attribute__((noinline)) static void Join(struct item** all, int count) {
  size_t used = 0;
  for (int i = 0; i < count && used + 32 < sizeof text; ++i) {
    const size_t size = strlen(all[i]->name);
    memcpy(text + used, all[i]->name, size + 1);
    used += size;
    text[used++] = i % 8 == 7 ? '\n' : ' ';
  }
}

__attribute__((noinline)) static unsigned LastOf(struct item* list, int steps) {
  unsigned sum = 0;
  for (int i = 0; i <= steps; ++i, list = list->next) sum += list->hash;
  return sum;
}

int main(void) {
  struct item* all[24];
  __asm__ volatile("int3");
  for (int i = 0; i < 24; ++i) all[i] = Put(i % 3 == 0 ? "third" : "item", i * 37);
  qsort(all, 24, sizeof *all, ByHash);
  Join(all, 24);
  long sum = Walk(40, 7);
  for (int i = 0; i < 5; ++i) {
    struct item copy = *all[i];
    copy.name[0] ^= 0x20;
    sum += HashOf(copy.name) + Walk(i, sum);
  }
  printf("%ld %zu\n", sum, strlen(text));
  return (int)LastOf(all[0], 24);
}
