// SPDX-License-Identifier: MIT
// A program that marks and names its recorded parts (flowback/self.h):
//   flowback record --regions -o regions.data -- regions     in the emulator: the regions alone
//   regions regions.data                                     records itself, where hardware can
//   regions regions.data events -e cpu-clock:u               or by other events of the kernel
#include <stdio.h>

#include "flowback/self.h"

enum { kRequests = 10 };

static volatile unsigned long sum;

__attribute__((noinline)) static void Prepare(unsigned long count) {
  for (unsigned long i = 0; i < count; ++i) sum += i;
}

__attribute__((noinline)) static void Handle(unsigned long count) {
  for (unsigned long i = 0; i < count; ++i) sum ^= i;
}

int main(int argc, char** argv) {
  struct flowback_self_options options = {0};
  options.output = argc > 1 ? argv[1] : "regions.data";
  options.engine = argc > 2 ? argv[2] : NULL;
  options.arguments = argc > 3 ? (const char* const*)argv + 3 : NULL;
  options.regions_only = 1;
  options.counters = 1;
  if (!flowback_self_start(&options)) printf("not recorded: %s\n", flowback_self_reason());
  for (int i = 0; i < kRequests; ++i) {
    Prepare(1000);  // is not recorded
    flowback_region_begin("request");
    Handle(1000);
    flowback_region_end();
  }
  struct flowback_self_counter counters[16];
  const int count = flowback_self_counters(counters, 16);
  for (int i = 0; i < count && i < 16; ++i)
    printf("%llu %s\n", counters[i].value, counters[i].name);
  flowback_self_stop();
  return 0;
}
