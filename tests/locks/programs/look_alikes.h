// SPDX-License-Identifier: MIT
// What the loops of look_alikes.c share.
#pragma once

#include <stdint.h>
#include <wchar.h>

#include "loops.h"

enum { kSlots = 256 };

struct Item {
  struct Item* next;
  long key;
  struct Item* other;
};

extern char text[400];  // words
extern char same_text[400];
extern wchar_t wide_text[100];
extern uint64_t table[kSlots];
extern struct Item items[100];
// Makes one list of them.
void LinkItems(void);

// Takes what a loop has found out, so that the compiler keeps the loop.
static volatile uint64_t sink;
