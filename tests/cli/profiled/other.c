/* SPDX-License-Identifier: MIT */
static __attribute__((noinline)) long twice(long value) {
  return value > 9 ? value * 2 : value + value / 3;
}

long other(long value) { return twice(value) + twice(value >> 4); }
