// SPDX-License-Identifier: MIT
// Three regions of a known number of instructions: counted_regions COUNT
#include <cstdlib>

#include "flowback/self.h"

namespace {

// Two instructions for each, whatever compiles it.
__attribute__((noinline)) void Inside(unsigned long count) {
  asm volatile("1: dec %0\n jnz 1b" : "+r"(count));
}

__attribute__((noinline)) void Outside(unsigned long count) {
  asm volatile("1: dec %0\n jnz 1b" : "+r"(count));
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned long count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1;
  // Where it is recorded already, there is no second recorder.
  if (flowback_self_start(nullptr) == 0) return 3;
  Outside(count);
  for (int i = 0; i < 3; ++i) {
    flowback_region_begin(i == 0 ? "first" : "later");
    flowback_region_begin("nested");
    Inside(count);
    flowback_region_end();
    flowback_region_end();
    Outside(count);
  }
  if (flowback_self_pause() != 0) return 4;
  return flowback_self_stop() != 0 ? 5 : 0;
}
