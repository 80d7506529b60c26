// SPDX-License-Identifier: MIT
// Dies of a null pointer, after it has been elsewhere.
static int *volatile place;

static int die(int number) {
  int value = number + 1;
  return *place + value;
}

static int other(int number) {
  return number - 1;  // NEVER
}

int main(int count, char **words) {
  (void)words;
  if (count > 100)
    return other(count);
  return die(3);
}
