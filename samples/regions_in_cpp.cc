// SPDX-License-Identifier: MIT
// The same in C++, of two threads: what is recorded ends with its scope.
//   regions_in_cpp OUTPUT [ENGINE [OPTION...]]
#include <cstdio>
#include <thread>

#include "flowback/self_region.h"

namespace {

unsigned long SumOf(unsigned long count) {
  volatile unsigned long sum = 0;
  for (unsigned long i = 0; i < count; ++i) sum = sum + i;
  return sum;
}

void Work(const char* name) {
  for (int i = 0; i < 5; ++i) {
    const flowback::SelfRegion region(name);
    const flowback::SelfRegion inner("sum");
    SumOf(100'000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  flowback_self_options options{};
  options.output = argc > 1 ? argv[1] : "regions.data";
  options.engine = argc > 2 ? argv[2] : nullptr;
  options.arguments = argc > 3 ? argv + 3 : nullptr;
  const flowback::SelfRecording recording(options);
  if (!recording) std::printf("not recorded: %s\n", flowback_self_reason());
  std::thread other(Work, "other thread");
  Work("first thread");
  other.join();
  return 0;
}
