// SPDX-License-Identifier: MIT
// Scenes for a debugger that steps backward, one function each: judge_scenes.py steps through them.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#define KEPT __attribute__((noinline, noclone))

extern int shared_sum(int first, int second);  // of scenes_library.c

static volatile int seen;
static jmp_buf back;

KEPT static int callee(int value) {
  seen += value;
  return seen + 1;
}

KEPT static int twice(int value) {
  int first = callee(value);
  int second = callee(first);
  return first + second;
}

KEPT static void steps(void) {
  seen = 1;
  callee(2);
  seen += callee(3);
  callee(callee(4));
  seen += twice(5);
  seen = 6;
}

KEPT static void loops(void) {
  int sum = 0;
  for (int i = 0; i < 3; ++i) {
    sum += callee(i);
  }
  seen = sum;
  seen += twice(sum);
}

KEPT static int factorial(int value) {
  if (value <= 1) {
    seen = value;
    return 1;
  }
  int less = factorial(value - 1);
  seen += less;
  return value * less;
}

KEPT static void recursion(void) {
  seen = factorial(5);
  seen += 1;
}

KEPT static int last(int value) {
  seen += value;
  return seen * 2;
}

KEPT static int tail(int value) {
  seen += 3;
  return last(value + 1);
}

KEPT static void tails(void) {
  seen = tail(1);
  seen += tail(2);
}

KEPT static void leave(int value) {
  seen += value;
  if (value == 2) longjmp(back, 1);
  seen += 1;
}

KEPT static void jumps(void) {
  if (setjmp(back) == 0) {
    leave(1);
    leave(2);
    seen += 100;
  } else {
    seen += 5;
  }
  seen += 7;
}

KEPT static void on_signal(int number) {
  seen += number;
  seen += 1;
}

KEPT static void signals(void) {
  seen = 0;
  raise(SIGUSR1);
  seen += 2;
  raise(SIGALRM);
  raise(SIGUSR2);
  seen += 3;
}

KEPT static void library(void) {
  seen = shared_sum(1, 2);
  seen += shared_sum(seen, 4);
  seen += 1;
}

int main(void) {
  const int numbers[] = {SIGUSR1, SIGUSR2, SIGALRM};
  for (int i = 0; i < 3; ++i) signal(numbers[i], on_signal);
  steps();
  loops();
  recursion();
  tails();
  jumps();
  signals();
  library();
  return seen == 0;
}
