// SPDX-License-Identifier: MIT
// Loops that a judge of waits looks at. A program takes the name of one and stops with INT3 before
// it and behind it.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct Loop {
  const char* name;
  void (*run)(void);
};

#define NOINLINE __attribute__((noinline))

// A value that the compiler does not know.
static inline uint64_t Hidden(uint64_t value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}

static inline void Pause(void) { __builtin_ia32_pause(); }
