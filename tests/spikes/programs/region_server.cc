// SPDX-License-Identifier: MIT
// A server that names its regions (flowback/self.h), in C and in C++, from two threads and within
// each other. Some requests are slow, and more of them of the name that is not asked for.
//   region_server     prints how many there were of each, and how many slow ones
#include <cstdio>
#include <thread>

#include "flowback/self.h"
#include "flowback/self_region.h"

namespace {

constexpr int kRequests = 200;

volatile unsigned long sum;

[[gnu::noinline]] void Work(unsigned long count) {
  for (unsigned long i = 0; i < count; ++i) sum = sum + i;
}

[[gnu::noinline]] void Reload() { Work(60000); }

[[gnu::noinline]] void Parse(int number) {
  const flowback::SelfRegion region("parse");
  Work(50 + number % 7);
}

[[gnu::noinline]] void Request(int number) {
  const flowback::SelfRegion region("request");
  Parse(number);
  if (number % 50 == 33) Reload();
  Work(100);
}

void Background() {
  for (int i = 0; i < kRequests; ++i) {
    flowback_region_begin("background");
    Work(i % 20 == 0 ? 40000 : 80);
    flowback_region_end();
    Work(20);
    flowback_region_end();  // is one too many
  }
}

// A name that is not in the code: it is made when the program runs.
void Unnamed() {
  static char name[16];
  std::snprintf(name, sizeof(name), "job-%d", kRequests % 7);
  const flowback::SelfRegion region(name);
  Work(100);
}

}  // namespace

int main() {
  std::thread background(Background);
  for (int i = 0; i < kRequests; ++i) Request(i);
  background.join();
  Unnamed();
  std::printf("request %d 4\nparse %d 0\nbackground %d 10\n", kRequests, kRequests, kRequests);
  return 0;
}
