// SPDX-License-Identifier: MIT
// A library that is stripped after building: its inner function is named in the separate debug file
// only.
namespace fixture {
namespace {

[[gnu::noinline]] int Hidden(int value) {
  asm volatile("" ::: "memory");
  return value ^ 0x55;
}

}  // namespace

int Exported(int value) { return Hidden(value) + 1; }

}  // namespace fixture
