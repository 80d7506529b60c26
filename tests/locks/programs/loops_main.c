// SPDX-License-Identifier: MIT
// Without an argument: prints the loops' names. With a name: runs that loop between two marks. With
// "all": runs each loop, without marks, while another thread sleeps.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loops.h"

extern const struct Loop* const loop_lists[];  // each ends with a loop that has no name

static void* Sleep(void* end) {
  char byte;
  return read(*(int*)end, &byte, 1) == 1 ? end : NULL;
}

static int RunAll(void) {
  int ends[2];
  pthread_t other;
  if (pipe(ends) != 0 || pthread_create(&other, NULL, Sleep, &ends[0]) != 0) return 1;
  for (const struct Loop* const* list = loop_lists; *list != NULL; ++list)
    for (const struct Loop* loop = *list; loop->name != NULL; ++loop) loop->run();
  if (write(ends[1], "x", 1) != 1) return 1;
  return pthread_join(other, NULL);
}

int main(int count, char** words) {
  if (count > 1 && strcmp(words[1], "all") == 0) return RunAll();
  for (const struct Loop* const* list = loop_lists; *list != NULL; ++list)
    for (const struct Loop* loop = *list; loop->name != NULL; ++loop) {
      if (count < 2) {
        puts(loop->name);
      } else if (strcmp(loop->name, words[1]) == 0) {
        Mark();
        loop->run();
        Mark();
        return 0;
      }
    }
  return count < 2 ? 0 : 1;
}
