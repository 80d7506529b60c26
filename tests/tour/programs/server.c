// SPDX-License-Identifier: MIT
// Stands for the reader's program in docs/how-to/: a server whose every fiftieth request is slow.
// It also compiles as C++. server [WORDS...] [--crash]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_INLINED __attribute__((noinline))

enum { kRequests = 300, kSlow = 50, kWork = 40, kSlowWork = 4000 };

static volatile unsigned sum;

// Regions have the names and the calls of flowback/self.h; nothing listens to them.
#ifdef __cplusplus
extern "C" {
#endif
NOT_INLINED void flowback_region_entered(const char* name) { sum += (unsigned)name[0]; }
NOT_INLINED void flowback_region_left(const char* name) { sum += (unsigned)name[1]; }
NOT_INLINED void flowback_region_begin(const char* name) {
  flowback_region_entered(name);
  sum += 1;
}
NOT_INLINED void flowback_region_end(void) {
  flowback_region_left("request");
  sum += 1;
}
#ifdef __cplusplus
}
#endif

NOT_INLINED static void Work(unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) sum += i;
}

NOT_INLINED static void Refund(unsigned request) {
  if (request % 2) sum -= request;
}

NOT_INLINED static void OnRequest(unsigned request) { sum += request; }
NOT_INLINED static void SendReply(unsigned request) { sum ^= request; }

NOT_INLINED static void Handle(unsigned request) {
  Work(kWork);
  if (request % kSlow == 0) Work(kSlowWork);
}

int main(int argc, char** argv) {
  const int crashes = argc > 1 && strcmp(argv[argc - 1], "--crash") == 0;
  for (unsigned request = 1; request <= kRequests; ++request) {
    OnRequest(request);
    flowback_region_begin("request");
    Handle(request);
    flowback_region_end();
    SendReply(request);
  }
  if (sum == 1) Refund(sum);
  if (crashes) abort();
  printf("%d requests\n", kRequests);
  return 0;
}
