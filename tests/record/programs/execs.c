// SPDX-License-Identifier: MIT
// Runs the program named by its first argument in a vforked child, then becomes it.
#include "freestanding.h"

long Main(long* stack) {
  char** arguments = (char**)(stack + 1);
  const char* const next[] = {arguments[1], 0};
  const char* const environment[] = {0};
  if (stack[0] < 2) return 1;
  const long child = SystemCall(kVfork, 0, 0, 0);
  if (child == 0) {
    SystemCall(kExecve, (long)next[0], (long)next, (long)environment);
    Exit(2);
  }
  SystemCall6(kWait4, child, 0, 0, 0, 0, 0);
  SystemCall(kExecve, (long)"/nonexistent", (long)next, (long)environment);
  SystemCall(kExecve, (long)next[0], (long)next, (long)environment);
  return 3;
}
