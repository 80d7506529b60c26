// SPDX-License-Identifier: MIT
// Does what its arguments say, in their order, as a shell would in hundreds of times as many
// instructions, most of them its start. Single-stepping those takes seconds for each process.
//
//   fork ... end        a child does these acts, and ends where it comes to "end"
//   wait                until one child has ended
//   exec PROGRAM ...    becomes that program, with all further arguments
//   append FILE TEXT    adds a line to the file, which is made where there is none
//   await FILE          reads the file, a pipe for example, until its end
//   session             begins a session of its own
//   ignore SIGNAL, exit-at SIGNAL STATUS, kill SIGNAL    the last one goes to itself
//   sleep, spin         for ever
//   exit STATUS
#include "freestanding.h"

enum { kOpen = 2, kClose = 3, kSetsid = 112 };
enum { kAppend = 02101 };  // O_WRONLY | O_CREAT | O_APPEND

static long status_at_signal;
static void ExitAtSignal(int signal) {
  (void)signal;
  Exit(status_at_signal);
}

static long SizeOf(const char* text) {
  long size = 0;
  while (text[size]) ++size;
  return size;
}

static int Is(const char* word, const char* act) {
  while (*word && *word == *act) ++word, ++act;
  return *word == *act;
}

static long NumberIn(const char* word) {
  long number = 0;
  for (; *word; ++word) number = number * 10 + (*word - '0');
  return number;
}

static void Append(const char* file, const char* text) {
  const long to = SystemCall(kOpen, (long)file, kAppend, 0644);
  if (*text) SystemCall(kWrite, to, (long)text, SizeOf(text));
  if (*text) SystemCall(kWrite, to, (long)"\n", 1);
  SystemCall(kClose, to, 0, 0);
}

static void Await(const char* file) {
  char byte;
  const long from = SystemCall(kOpen, (long)file, 0, 0);
  while (SystemCall(kRead, from, (long)&byte, 1) > 0) {
  }
  SystemCall(kClose, from, 0, 0);
}

// Returns where the parent goes on: behind the child's "end".
static char** Fork(char** word) {
  if (SystemCall(kFork, 0, 0, 0) == 0) return word;
  for (int depth = 1; *word && depth; ++word) depth += Is(*word, "fork") - Is(*word, "end");
  return word;
}

long Main(long* stack) {
  char** word = (char**)(stack + 2);
  const char* const none[] = {0};
  while (*word) {
    const char* const act = *word++;
    if (Is(act, "end")) return 0;
    if (Is(act, "exit")) return NumberIn(*word);
    if (Is(act, "fork")) {
      word = Fork(word);
    } else if (Is(act, "wait")) {
      WaitFor(-1);
    } else if (Is(act, "exec")) {
      SystemCall(kExecve, (long)*word, (long)word, (long)none);
      return 127;
    } else if (Is(act, "append")) {
      Append(word[0], word[1]);
      word += 2;
    } else if (Is(act, "await")) {
      Await(*word++);
    } else if (Is(act, "session")) {
      SystemCall(kSetsid, 0, 0, 0);
    } else if (Is(act, "ignore")) {
      Handle((int)NumberIn(*word++), (void*)1, 0);
    } else if (Is(act, "exit-at")) {
      status_at_signal = NumberIn(word[1]);
      Handle((int)NumberIn(word[0]), (void*)ExitAtSignal, 0);
      word += 2;
    } else if (Is(act, "kill")) {
      SystemCall(kKill, SystemCall(kGetpid, 0, 0, 0), NumberIn(*word++), 0);
    } else if (Is(act, "sleep")) {
      for (;;) SystemCall(kPause, 0, 0, 0);
    } else if (Is(act, "spin")) {
      for (volatile long i = 0;; ++i) {
      }
    } else {
      return 126;
    }
  }
  return 0;
}
