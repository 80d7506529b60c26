/* SPDX-License-Identifier: MIT */
/* What of it never executes is marked: functions by their names, lines by NEVER, lines with a
   branch of which one direction is never taken by ONEWAY. Run without arguments. */
static volatile int sink;
#define KEEP __attribute__((noinline))

KEEP int never_small(int a) {                      /* NEVER */
  return a * 3 + sink;                             /* NEVER */
}                                                  /* NEVER */

KEEP int never_large(int a) {                      /* NEVER */
  int sum = 0;                                     /* NEVER */
  for (int i = 0; i < a; ++i) {                    /* NEVER */
    if (i & 1)                                     /* NEVER */
      sum += never_small(i);                       /* NEVER */
    else                                           /* NEVER: no code */
      sum -= i;                                    /* NEVER */
  }                                                /* NEVER: no code */
  return sum;                                      /* NEVER */
}                                                  /* NEVER */

KEEP int both_ways(int a) {
  if (a > 3)
    return a - 1;
  return a + 1;
}

KEEP int one_way(int a) {
  if (a > 100)                                     /* ONEWAY */
    sink = never_large(a);                         /* NEVER */
  if (a >= 0)                                      /* ONEWAY */
    sink += a;
  switch (a) {                                     /* ONEWAY */
    case 1000:
      sink = 7;                                    /* NEVER */
      break;                                       /* NEVER */
    default:
      sink ^= 1;
  }
  return sink;
}

int main(int argc, char** argv) {
  (void)argv;
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum += both_ways(i) + one_way(i);
  if (argc > 5) sum += never_large(sum);           /* ONEWAY */
  return sum == 0;
}
