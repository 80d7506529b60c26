// Two files each have a function `pick` of their own. With a section for each block, code of both is
// moved away under names that differ by a number alone.
#include <stdio.h>

int other_pick(int value);

static __attribute__((noinline)) int pick(int value) {
  if (value % 3 == 0) return value * 2;
  if (value > 50) return value - 1;
  return value + 1;
}

int main(void) {
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += pick(i) + other_pick(i);
  printf("%d\n", sum);
  return 0;
}
