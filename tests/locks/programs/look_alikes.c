// SPDX-License-Identifier: MIT
// Loops that look like waits at first sight and do not wait for another thread. Each ends by
// itself.
#include "look_alikes.h"

#include <stddef.h>
#include <string.h>

char text[400];
char same_text[400];
wchar_t wide_text[100];
uint64_t table[kSlots];
struct Item items[100];

void LinkItems(void) {
  for (size_t i = 0; i < 99; ++i) {
    items[i].next = &items[i + 1];
    items[i].key = (long)(i * 37 % 100);
  }
}

static void Prepare(void) __attribute__((constructor));
static void Prepare(void) {
  for (size_t i = 0; i < sizeof text - 1; ++i) text[i] = (char)(i % 7 == 6 ? ' ' : 'a' + i % 13);
  memcpy(same_text, text, sizeof text);
  for (size_t i = 0; i < 99; ++i) wide_text[i] = L'w';
}

extern const struct Loop data_look_alikes[];
extern const struct Loop numbers_look_alikes[];
extern const struct Loop threads_look_alikes[];
const struct Loop* const loop_lists[] = {data_look_alikes, numbers_look_alikes, threads_look_alikes,
                                         NULL};
