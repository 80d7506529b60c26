// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "loops.h"

extern const struct Loop loops[];

int main(int count, char** words) {
  for (const struct Loop* loop = loops; loop->name != NULL; ++loop) {
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
