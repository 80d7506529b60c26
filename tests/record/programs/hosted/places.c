// SPDX-License-Identifier: MIT
// Linked several times into one program: so many functions have one name.
static volatile int passed;

__attribute__((noinline)) static void Place(void) { ++passed; }
__attribute__((noinline)) static void Behind(void) { --passed; }

__attribute__((constructor)) static void Pass(void) {
  Place();
  Behind();
}

__attribute__((weak)) int main(void) { return 0; }
