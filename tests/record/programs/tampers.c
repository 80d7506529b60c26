// SPDX-License-Identifier: MIT
// Does to its recording, and to its recorder's means, what its first argument's first letter says:
// t truncates the file that the second argument names, w writes behind its end, r removes it, c
// closes all descriptors, e becomes the program that it is. Then it goes on for a while.
#include "freestanding.h"

enum {
  kWriteToFile = 1,
  kOpenFile = 2,
  kUnlink = 87,
  kCloseRange = 436,
  kWriteTruncated = 01 | 01000,
  kAppended = 01 | 02000,
  kExecutable = 59,
  kOwnStatus = 7,
};

static volatile long sum;

static void WriteTo(const char* path, long flags) {
  const long file = SystemCall(kOpenFile, (long)path, flags, 0);
  if (file < 0) Exit(3);
  SystemCall(kWriteToFile, file, (long)"tampered", 8);
}

long Main(long* stack) {
  char** arguments = (char**)(stack + 1);
  const char* const again[] = {"again", 0};
  const char* const environment[] = {0};
  if (stack[0] < 2) return kOwnStatus;
  if (arguments[1][0] == 't') WriteTo(arguments[2], kWriteTruncated);
  if (arguments[1][0] == 'w') WriteTo(arguments[2], kAppended);
  if (arguments[1][0] == 'r') SystemCall(kUnlink, (long)arguments[2], 0, 0);
  if (arguments[1][0] == 'c' && SystemCall(kCloseRange, 0, 0xffffffff, 0) != 0) return 3;
  for (long i = 0; i < 3000; ++i) sum += i;
  if (arguments[1][0] == 'e')
    SystemCall(kExecutable, (long)arguments[2], (long)again, (long)environment);
  return arguments[1][0] == 'e' ? 4 : 0;
}
