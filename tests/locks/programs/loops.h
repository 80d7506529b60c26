// SPDX-License-Identifier: MIT
// Loops that a judge of waits looks at. A program takes the name of one, and executes a mark before
// it and after it: INT3, or on AArch64 a hint that does nothing.
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

#if defined(__x86_64__)
static inline void Pause(void) { __builtin_ia32_pause(); }
static inline uint64_t Ticks(void) { return __builtin_ia32_rdtsc(); }
static inline void Mark(void) { __asm__ volatile("int3" ::: "memory"); }
#else
static inline void Pause(void) { __asm__ volatile("yield" ::: "memory"); }
static inline uint64_t Ticks(void) {
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
static inline void Mark(void) { __asm__ volatile("hint #85" ::: "memory"); }
#endif
