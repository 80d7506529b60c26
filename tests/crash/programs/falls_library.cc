// SPDX-License-Identifier: MIT
// A library whose destructor falls, if the program says so.
bool library_falls = false;

namespace {

int* volatile table = nullptr;
volatile int sink;

__attribute__((noinline)) void Flush() {
  sink = *table;  // CAUSE library
}
__attribute__((destructor)) void Leave() {
  if (library_falls) Flush();
}

}  // namespace
