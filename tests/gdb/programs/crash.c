// SPDX-License-Identifier: MIT
// Dies of a null pointer at the end of a list.
struct node {
  int value;
  struct node* next;
};

static int sum_of(struct node* list, int limit) {
  int sum = 0;
  for (int i = 0; i < limit; ++i) {
    sum += list->value;
    list = list->next;
  }
  return sum;
}

int main(void) {
  struct node third = {3, 0}, second = {2, &third}, first = {1, &second};
  return sum_of(&first, 5);
}
