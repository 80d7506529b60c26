// SPDX-License-Identifier: MIT
// dies HOW: ends itself in one of many ways. A mark `FAULT HOW` stands at the line that a report of
// it names first, `CAUSE HOW` at the line that gave the bad value.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#define APART __attribute__((noinline, noclone))

namespace {

struct Queue {
  int* head;
  long size;
};
Queue queue;
volatile int sink;
volatile int zero;

APART void Drop(Queue* q) {
  q->head = nullptr;  // CAUSE null
}
APART int Parse(Queue* q) {
  return *q->head;  // FAULT null
}
int NullPointer() {
  queue.head = new int(3);
  sink = Parse(&queue);
  Drop(&queue);
  return Parse(&queue);
}

APART int* Scaled(long factor) { return reinterpret_cast<int*>(0x123456789abcd000 + factor * 8); }
APART void Set(int* at) {
  *at = 1;  // FAULT wild
}
int WildPointer() {
  Set(Scaled(3));
  return 0;
}

APART int Deeper(int n) {
  volatile char room[2000];
  room[0] = static_cast<char>(n);
  return Deeper(n + 1) + room[0];
}

using Function = int (*)(int);
Function table[4];
APART int CallEntry(int n) {
  const int result = table[n & 3](n);  // FAULT jump
  return result + 1;
}
int WildJump() {
  table[1] = reinterpret_cast<Function>(0x1234567000);
  return CallEntry(1);
}

APART void Check(int n) {
  assert(n == 7);  // FAULT assert
}
int Assertion() {
  Check(5);
  return 0;
}

APART void Throw(int n) {
  if (n > 2) throw std::runtime_error("more than two");  // FAULT exception
}
APART void Between(int n) {
  Throw(n);
  sink = n;
}
int Exception() {
  Between(3);
  return 0;
}

APART void Release(char* block) {
  free(block);  // FAULT twice
  sink = 1;
}
int FreedTwice() {
  char* const block = static_cast<char*>(malloc(100));
  char* const other = static_cast<char*>(malloc(100));
  Release(block);
  Release(block);
  return other != nullptr;
}

APART int Divide(int a, int b) {
  return a / b;  // FAULT division
}

APART int Illegal() {
  __builtin_trap();  // FAULT illegal
  return 0;
}

int ShrunkFile() {
  char name[] = "/tmp/flowback-dies-XXXXXX";
  const int file = mkstemp(name);
  unlink(name);
  if (ftruncate(file, 8192) != 0) return 1;
  char* const map = static_cast<char*>(mmap(nullptr, 8192, PROT_READ, MAP_SHARED, file, 0));
  sink = map[5000];
  if (ftruncate(file, 100) != 0) return 1;
  return map[5000];  // FAULT bus
}

void* Fail(void*) {
  abort();  // FAULT thread
}
int AbortInThread() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Fail, nullptr);
  pthread_join(thread, nullptr);
  return 0;
}

struct Shared {
  int* volatile head;
  volatile int state;
  volatile int ready;
};
Shared shared;
APART void DropShared() {
  shared.head = nullptr;  // CAUSE race
}
void* DropLater(void*) {
  while (shared.ready == 0) sink = 0;
  DropShared();
  shared.state = 1;
  pause();
  return nullptr;
}
APART int ReadShared() {
  return *shared.head;  // FAULT race
}
int OtherThread() {
  shared.head = new int(3);
  pthread_t thread;
  pthread_create(&thread, nullptr, DropLater, nullptr);
  shared.ready = 1;
  while (shared.state == 0) usleep(1000);
  return ReadShared();
}

pthread_mutex_t first_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t second_mutex = PTHREAD_MUTEX_INITIALIZER;
volatile int locked;
APART void LockBoth(pthread_mutex_t* one, pthread_mutex_t* other) {
  pthread_mutex_lock(one);  // CAUSE deadlock
  __sync_fetch_and_add(&locked, 1);
  while (locked < 2) usleep(1000);
  pthread_mutex_lock(other);  // FAULT deadlock
}
void* LockInOrder(void*) {
  LockBoth(&first_mutex, &second_mutex);
  return nullptr;
}
// Ends a program that hangs, so that the kernel dumps it.
void* Watch(void*) {
  while (locked < 2) usleep(1000);
  usleep(700000);
  kill(getpid(), SIGQUIT);
  return nullptr;
}
int Deadlock() {
  pthread_t thread;
  pthread_create(&thread, nullptr, Watch, nullptr);
  pthread_create(&thread, nullptr, LockInOrder, nullptr);
  LockBoth(&second_mutex, &first_mutex);
  return 0;
}

// Its child sends it the signal of a fault, while nothing fails: in a loop that loads, one that
// stores, and one that does neither.
APART int Spin(volatile int* spins) {
  *spins = 1;
  for (;;) sink = sink + *spins;
}
APART int SpinAndStore(volatile int* spins) {
  for (;;) *spins = 1;
}
APART int SpinAlone(volatile int* spins) {
  *spins = 1;
  for (unsigned n = 0;; n += 3) asm volatile("" : "+r"(n));
}
int Sent(int (*spin)(volatile int*), int signal) {
  const int parent = getpid();
  void* const shared_by_both =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  volatile int* const spins = static_cast<volatile int*>(shared_by_both);
  if (fork() != 0) return spin(spins);
  while (*spins == 0) usleep(1000);
  usleep(20000);
  kill(parent, signal);
  return 0;
}

void Handler(int) {
  sink = *static_cast<volatile int*>(nullptr);  // FAULT handler
}
int InHandler() {
  signal(SIGUSR1, Handler);
  raise(SIGUSR1);
  return 0;
}

}  // namespace

int main(int, char** words) {
  const char* const how = words[1];
  if (strcmp(how, "null") == 0) return NullPointer();
  if (strcmp(how, "wild") == 0) return WildPointer();
  if (strcmp(how, "overflow") == 0) return Deeper(1);
  if (strcmp(how, "jump") == 0) return WildJump();
  if (strcmp(how, "assert") == 0) return Assertion();
  if (strcmp(how, "exception") == 0) return Exception();
  if (strcmp(how, "twice") == 0) return FreedTwice();
  if (strcmp(how, "division") == 0) return Divide(7, zero);
  if (strcmp(how, "illegal") == 0) return Illegal();
  if (strcmp(how, "bus") == 0) return ShrunkFile();
  if (strcmp(how, "thread") == 0) return AbortInThread();
  if (strcmp(how, "race") == 0) return OtherThread();
  if (strcmp(how, "deadlock") == 0) return Deadlock();
  if (strcmp(how, "sent") == 0) return Sent(Spin, SIGSEGV);
  if (strcmp(how, "sent_store") == 0) return Sent(SpinAndStore, SIGSEGV);
  if (strcmp(how, "sent_division") == 0) return Sent(SpinAlone, SIGFPE);
  if (strcmp(how, "handler") == 0) return InHandler();
  if (strcmp(how, "killed") == 0) raise(SIGKILL);
  return strcmp(how, "exit") == 0 ? 3 : 0;
}
