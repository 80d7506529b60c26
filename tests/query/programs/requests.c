// SPDX-License-Identifier: MIT
// Two threads that answer requests, one after the other: a trace of some megabytes. One request in
// fifty calls Rare.
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

static volatile uint64_t sum;

__attribute__((noinline)) uint64_t Step(uint64_t state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^ state << 17;
}

__attribute__((noinline)) uint64_t Left(uint64_t state) { return state + 1; }
__attribute__((noinline)) uint64_t Right(uint64_t state) { return state + 3; }
__attribute__((noinline)) uint64_t Ahead(uint64_t state) { return state + 5; }
static uint64_t (*const volatile kWays[])(uint64_t) = {Left, Right, Ahead, Step};

// A trace has the target of each of these calls.
__attribute__((noinline)) uint64_t Choose(uint64_t state) {
  for (int i = 0; i < 24; ++i) {
    state = Step(state);
    state = kWays[state % 4](state);
  }
  return state;
}

__attribute__((noinline)) uint64_t Rare(uint64_t state) {
  getppid();
  return Step(state);
}

__attribute__((noinline)) uint64_t Request(uint64_t state, int number) {
  for (int i = 0; i < 8; ++i) state = Choose(state);
  return number % 50 == 7 ? Rare(state) : state;
}

void* Serve(void* seed) {
  uint64_t state = (uintptr_t)seed;
  for (int number = 0; number < 1800; ++number) state = Request(state, number);
  sum = sum + state;
  return NULL;
}

int main(void) {
  pthread_t other;
  if (pthread_create(&other, NULL, Serve, (void*)(uintptr_t)0x9e3779b9) != 0) return 1;
  Serve((void*)(uintptr_t)0x85ebca6b);
  return pthread_join(other, NULL);
}
