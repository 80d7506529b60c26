// SPDX-License-Identifier: MIT
// misled HOW: dies of a value that another place than the obvious one stored, or of what looks like
// another kind of death. A mark `INNOCENT HOW` stands at a line that a report must not blame,
// `CAUSE HOW` at the right one.
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline))

static volatile int done;

struct node {
  struct node* next;
  long value;
};
static struct node node;
APART void clear_long_ago(void) {
  node.next = NULL;  // INNOCENT kernel
  node.value = 5;
}
APART void read_into(int file) {
  if (read(file, &node, sizeof node.next) < 0) _exit(92);
}
static int kernel_wrote(void) {
  const int file = open("/dev/zero", O_RDONLY);
  clear_long_ago();
  read_into(file);
  return (int)node.next->value;
}

static long number = 7;
static long* volatile pointer;
static void* clear_first(void* none) {
  pointer = NULL;  // INNOCENT order
  while (!done) usleep(1000);
  return none;
}
APART void clear_last(void) {
  pointer = &number;
  const long is = *pointer;
  pointer = (long*)(is - 7);  // CAUSE order
}
static int own_store_is_later(void) {
  pthread_t thread;
  pointer = &number;
  pthread_create(&thread, NULL, clear_first, NULL);
  while (pointer != NULL) usleep(100);
  clear_last();
  return (int)*pointer;
}

static union {
  long* volatile pointer;
  volatile char bytes[sizeof(long*)];
} both;
APART void set_bad(void) {
  both.pointer = (long*)0x10;  // CAUSE part
}
APART void change_nothing(void) {
  both.bytes[7] = 0;  // INNOCENT part
}
static void* set_then_change(void* none) {
  set_bad();
  change_nothing();
  done = 1;
  for (;;) usleep(1000);
  return none;
}
static int stored_in_part(void) {
  pthread_t thread;
  both.pointer = &number;
  pthread_create(&thread, NULL, set_then_change, NULL);
  while (!done) usleep(100);
  return (int)*both.pointer;
}

static struct {
  volatile int index;
  volatile int flag;
} fields __attribute__((aligned(8)));
static long table[4];
static long* volatile table_at = table;
APART void set_index(void) {
  fields.index = 1 << 29;  // CAUSE neighbour
}
APART void clear_flag(void) {
  fields.flag = 0;  // INNOCENT neighbour
}
static void* set_both(void* none) {
  set_index();
  clear_flag();
  done = 1;
  for (;;) usleep(1000);
  return none;
}
static int neighbour_stored(void) {
  pthread_t thread;
  fields.flag = 1;
  pthread_create(&thread, NULL, set_both, NULL);
  while (!done) usleep(100);
  return (int)table_at[(unsigned)fields.index];
}

APART void fill(char* room, long size) {
  for (long i = 0; i < size; ++i) ((volatile char*)room)[i] = 1;  // CAUSE overrun
}
static int overrun(void) {
  char room[16];
  fill(room, 1 << 26);
  return room[3];
}

APART void free_it(char* block) {
  free(block);  // INNOCENT again
  done = 1;
}
static int allocated_again(void) {
  char* volatile const first = malloc(100);
  free_it(first);
  char* volatile const again = malloc(100);
  if (again != first) _exit(93);
  for (int i = 1; i <= 16; ++i) ((volatile char*)again)[-i] = 0x41;  // CAUSE again
  free(again);
  return 0;
}

static const struct way {
  const char* name;
  int (*die)(void);
} ways[] = {{"kernel", kernel_wrote}, {"order", own_store_is_later},
            {"part", stored_in_part}, {"neighbour", neighbour_stored},
            {"overrun", overrun},     {"again", allocated_again}};

int main(int count, char** words) {
  for (size_t i = 0; count > 1 && i < sizeof ways / sizeof ways[0]; ++i)
    if (strcmp(ways[i].name, words[1]) == 0) return ways[i].die();
  return 91;
}
