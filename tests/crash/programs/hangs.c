// SPDX-License-Identifier: MIT
// hangs HOW: never ends by itself. Writes a line when it hangs. A mark `FAULT HOW` stands at the
// line that a report of it names, `CAUSE HOW` at another one that it names.
//   deadlock  two threads wait for each other's mutex, a third one for a signal
//   loop      one thread executes an endless loop, another one waits
//   once      the only thread comes to a place once, and executes an endless loop afterwards
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static void Tell(const char* line) {
  if (write(1, line, strlen(line)) < 0) _exit(90);
}

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static volatile int locked;
APART void LockBoth(pthread_mutex_t* one, pthread_mutex_t* other) {
  pthread_mutex_lock(one);  // CAUSE deadlock
  __sync_fetch_and_add(&locked, 1);
  while (locked < 2) usleep(1000);
  if (one == &journal) Tell("hangs\n");
  pthread_mutex_lock(other);  // FAULT deadlock
  pthread_mutex_unlock(other);
}
static void* LockInOrder(void* unused) {
  LockBoth(&accounts, &journal);
  return unused;
}
static void* Wait(void* unused) {
  pause();
  locked = 3;  // where it is woken
  return unused;
}
static int Deadlock(void) {
  pthread_t thread, other;
  pthread_create(&other, 0, Wait, 0);
  pthread_create(&thread, 0, LockInOrder, 0);
  LockBoth(&journal, &accounts);
  return 0;
}

APART int Search(volatile int* table, int wanted) {
  int at = 0;
  while (table[at] != wanted) at = (at + 1) & 15;  // FAULT loop
  return at;
}
static int Loop(void) {
  static volatile int table[16];
  pthread_t thread;
  pthread_create(&thread, 0, Wait, 0);
  usleep(20000);
  Tell("hangs\n");
  return Search(table, 7);  // CAUSE loop
}

static volatile long asked;
APART long Ask(long what) {
  asked = what * 3;
  return asked + what;  // FAULT once
}
static int Once(void) {
  static volatile int table[16];
  const long answer = Ask(0x1234);  // CAUSE once
  Tell("hangs\n");
  return Search(table, (int)answer);
}

int main(int count, char** words) {
  const char* const how = count > 1 ? words[1] : "";
  if (strcmp(how, "deadlock") == 0) return Deadlock();
  if (strcmp(how, "loop") == 0) return Loop();
  return Once();
}
