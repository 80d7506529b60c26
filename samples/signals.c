// SPDX-License-Identifier: MIT
// Handlers that interrupt a loop, a system call and a faulting instruction.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms;
static int wake[2];
static sigjmp_buf after_fault;
static int* volatile nowhere;

static void OnAlarm(int signal) {
  (void)signal;
  ++alarms;
  if (write(wake[1], "", 1) != 1) _exit(1);
}

static void OnFault(int signal) {
  (void)signal;
  siglongjmp(after_fault, 1);
}

static void SetTimer(long microseconds) {
  const struct itimerval timer = {.it_value = {.tv_sec = 0, .tv_usec = microseconds}};
  setitimer(ITIMER_REAL, &timer, NULL);
}

static void Handle(int signal, void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, NULL);
}

int main(void) {
  if (pipe(wake) != 0) return 1;
  Handle(SIGALRM, OnAlarm);
  Handle(SIGSEGV, OnFault);

  SetTimer(5000);
  unsigned long spins = 0;
  // At least once: on a busy machine the timer may run out before the program comes here.
  do {
    ++spins;
  } while (alarms == 0);

  char byte;
  if (read(wake[0], &byte, 1) != 1) return 1;
  SetTimer(20000);
  // Blocks until the handler has written, and is restarted then.
  if (read(wake[0], &byte, 1) != 1) return 1;

  if (sigsetjmp(after_fault, 1) == 0) *nowhere = 0;
  printf("%d alarms, one fault\n", (int)alarms);
  return spins == 0;
}
