static __attribute__((noinline)) int pick(int value) {
  return value & 1 ? value : -value;
}

int other_pick(int value) { return pick(value) + 1; }
