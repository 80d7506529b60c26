// SPDX-License-Identifier: MIT
// Frees a buffer twice, long after the mistake: the C library notices it at the second time and aborts. Stepping
// backward leads to the first one (docs/how-to/step-backward.md).
#include <stdlib.h>
#include <string.h>

struct connection {
  char *buffer;
  size_t size;
};

__attribute__((noinline)) static void close_connection(struct connection *connection) {
  free(connection->buffer);
}

__attribute__((noinline)) static int receive(struct connection *connection, const char *message) {
  size_t length = strlen(message);
  if (length >= connection->size) {
    close_connection(connection);
    return -1;
  }
  memcpy(connection->buffer, message, length + 1);
  return (int)length;
}

__attribute__((noinline)) static int receive_all(struct connection *connection) {
  static const char *const messages[] = {"hello", "how are you", "a message that is longer than the buffer", "bye"};
  int received = 0;
  for (size_t i = 0; i < sizeof messages / sizeof messages[0]; ++i)
    if (receive(connection, messages[i]) > 0)
      ++received;
  return received;
}

int main(void) {
  struct connection connection = {malloc(16), 16};
  int received = receive_all(&connection);
  close_connection(&connection);
  return received == 3 ? 0 : 1;
}
