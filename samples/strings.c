// SPDX-License-Identifier: MIT
// rep string instructions: one executed instruction each, however many bytes they move.
#include <stddef.h>
#include <stdio.h>

static void Fill(char* to, char value, size_t count) {
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(value) : "memory");
}

static void Copy(char* to, const char* from, size_t count) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

static size_t Length(const char* text) {
  size_t left = ~(size_t)0;
  __asm__ volatile("repne scasb" : "+D"(text), "+c"(left) : "a"(0) : "memory");
  return ~left - 1;
}

int main(void) {
  static char from[1500], to[1500];
  Fill(from, 'x', sizeof from - 1);
  Copy(to, from, sizeof from);
  Copy(to, from, 0);
  printf("%zu\n", Length(to));
  return 0;
}
