// SPDX-License-Identifier: MIT
int part_one(int value) {
  int sum = value + 1;
  return sum;
}
