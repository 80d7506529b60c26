// SPDX-License-Identifier: MIT
// A program whose stack is known wherever it is: each part spins in a function that is called in
// one way only. docs/explanation/call-stacks.md compares what finds which.
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#define APART __attribute__((noinline, noclone))
#define BARE __attribute__((noinline, noclone, optimize("omit-frame-pointer")))
#define HERE asm volatile("" ::: "memory")  // keeps a call from becoming a jump

static volatile unsigned long sink;
static unsigned long rounds;
// Each with a number of its own: functions that are alike may become one. The counters are in
// memory: else the compiler makes no frame in spite of its options.
#define SPIN(number) \
  for (volatile unsigned long i = 0; i < rounds; ++i) sink += i + (number)

// Calls with frames.
static APART void leaf_plain(void) { SPIN(1); }
static APART void plain_b(void) { leaf_plain(); HERE; }
static APART void plain_a(void) { plain_b(); HERE; }

// Functions without frames: the C library's are such.
static BARE void leaf_bare(void) { SPIN(2); }
static BARE void bare_b(void) { leaf_bare(); HERE; }
static BARE void bare_a(void) { bare_b(); HERE; }

// Calls in the place of returns: tail_b is left before leaf_tail runs.
static APART void leaf_tail(void) { SPIN(3); }
static APART void tail_b(void) { leaf_tail(); }
static APART void tail_a(void) { tail_b(); HERE; }

// Out of a library's function.
static APART int leaf_callback(const void* a, const void* b) {
  SPIN(4);
  return *(const int*)a - *(const int*)b;
}
static APART void callback_a(void) {
  int two[] = {2, 1};
  qsort(two, 2, sizeof two[0], leaf_callback);
  HERE;
}

// Deeper than hardware's stack of calls.
static APART void leaf_deep(void) { SPIN(5); }
static APART void deep(int depth) {
  if (depth == 0)
    leaf_deep();
  else
    deep(depth - 1);
  HERE;
}

// A signal's handler.
static APART void leaf_signal(int number) {
  (void)number;
  SPIN(6);
}
static APART void signal_a(void) { raise(SIGUSR1); HERE; }

// A stack of its own.
static ucontext_t outside, inside;
static APART void leaf_fibre(void) { SPIN(7); }
static APART void fibre_a(void) { leaf_fibre(); HERE; }
static APART void fibre(void) {
  static char stack[65536];
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = sizeof stack;
  inside.uc_link = &outside;
  makecontext(&inside, fibre_a, 0);
  swapcontext(&outside, &inside);
  HERE;
}

// What the compiler puts into its caller.
static inline __attribute__((always_inline)) void inlined_b(void) { SPIN(8); }
static inline __attribute__((always_inline)) void inlined_a(void) { inlined_b(); }
static APART void leaf_inlined(void) { inlined_a(); }

int main(int count, char** words) {
  rounds = count > 1 ? strtoul(words[1], NULL, 10) : 1000;
  const int times = count > 2 ? atoi(words[2]) : 1;
  signal(SIGUSR1, leaf_signal);
  for (int i = 0; i < times; ++i) {
    plain_a();
    bare_a();
    tail_a();
    callback_a();
    deep(100);
    signal_a();
    fibre();
    leaf_inlined();
  }
  return 0;
}
