// SPDX-License-Identifier: MIT
// Calls that are hard to compare: odd_calls MODE [DEPTHS].
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define APART __attribute__((noinline, noclone))

volatile uint64_t sink;

APART void spend(unsigned trips) {
  for (unsigned i = 0; i < trips; ++i) sink = sink * 3 + i;
}

// --- one call, equal calls, calls that no instruction makes, calls that do not end

namespace odd {
APART void once() { spend(10); }
}  // namespace odd

APART void equal() { spend(100); }

__attribute__((always_inline)) inline void merged(unsigned i) {
  sink = sink + 7 * i;  // MERGED: begins
  if (i % 20 == 7) spend(3000);
  sink = sink + 1;  // MERGED: ends
}

APART void caller(unsigned i) {
  spend(5);
  merged(i);
  spend(5);
}

APART void opens() { spend(1); }
APART void closes() { spend(2); }

[[noreturn]] APART void event_loop() {
  for (unsigned i = 0; i < 50; ++i) equal();
  exit(0);
}

void Plain() {
  odd::once();
  closes();
  for (unsigned i = 0; i < 60; ++i) caller(i);
  opens();
  event_loop();
}

// --- a recursion

APART uint64_t deep(unsigned depth) {
  if (depth == 0) return sink;
  return deep(depth - 1) + sink % 3;
}

void* Recurse(void* words) {
  for (char** word = static_cast<char**>(words); *word != nullptr; ++word)
    sink = deep(static_cast<unsigned>(atoi(*word)));
  return nullptr;
}

// A recursion of any depth needs a large stack.
void Recursion(char** words) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{256} << 20);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, Recurse, words) == 0) pthread_join(thread, nullptr);
}

// --- calls that leave their stack for another one

constexpr size_t kStackBytes = 64 << 10;
constexpr unsigned kWorkers = 2;
ucontext_t scheduler, workers[kWorkers];
char worker_stacks[kWorkers][kStackBytes];
unsigned requests[kWorkers];

void Prepare(unsigned worker, void (*function)(int)) {
  ucontext_t& context = workers[worker];
  getcontext(&context);
  context.uc_stack.ss_sp = worker_stacks[worker];
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, reinterpret_cast<void (*)()>(function), 1, worker);
}

// Spends time each time that it is resumed.
void Generate(int worker) {
  for (;;) {
    spend(20);
    swapcontext(&workers[worker], &scheduler);
  }
}

// Goes to the generator's stack and back.
APART void borrow(unsigned i) {
  spend(10);
  for (unsigned round = 0; round < 3; ++round) swapcontext(&scheduler, &workers[0]);
  if (i % 25 == 9) spend(5000);
}

void Borrowing() {
  Prepare(0, Generate);
  for (unsigned i = 0; i < 100; ++i) borrow(i);
}

// Waits in the middle, while a request of another worker is handled.
APART void serve(unsigned worker, unsigned i) {
  spend(30);
  swapcontext(&workers[worker], &scheduler);
  spend(i % 16 == 5 ? 4000 : 30);
}

void Work(int worker) {
  for (;;) {
    serve(static_cast<unsigned>(worker), requests[worker]++);
    swapcontext(&workers[worker], &scheduler);
  }
}

// Resumes each request once.
void Serving() {
  for (unsigned i = 0; i < kWorkers; ++i) Prepare(i, Work);
  for (unsigned i = 0; i < 4 * 40; ++i) swapcontext(&scheduler, &workers[i % kWorkers]);
}

int main(int count, char** words) {
  const char* const mode = count < 2 ? "" : words[1];
  if (strcmp(mode, "plain") == 0) Plain();
  if (strcmp(mode, "recursion") == 0) Recursion(words + 2);
  if (strcmp(mode, "borrowing") == 0) Borrowing();
  if (strcmp(mode, "serving") == 0) Serving();
  return 0;
}
