// SPDX-License-Identifier: MIT
// Dies of a null pointer that it loaded some calls before. Without a C library: also built for machines
// that have none here.
typedef struct Node {
  struct Node* next;
  int value;
} Node;

static Node nodes[4] = {{0, 1}};
static Node* volatile list;
static volatile int sink;

__attribute__((noinline)) static void Drop(Node** head, int count) {
  for (int i = 0; i < count; ++i) {
    *head = (*head)->next;
  }
}

__attribute__((noinline)) static int Sum(Node* from, int times, int add) {
  int sum = add;
  for (int i = 0; i < times; ++i) {
    sum = sum * 3 + from->value;  // FAULT
    from = from->next;
  }
  return sum;
}

void _start(void) {
  for (int i = 0; i < 3; ++i) {
    nodes[i].value = i * 7;
    nodes[i].next = &nodes[i + 1];
  }
  nodes[3].next = 0;  // CAUSE
  Node* head = &nodes[0];
  Drop(&head, 4);
  list = head;
  sink = Sum(head, 2, 5);
  for (;;) {
  }
}
