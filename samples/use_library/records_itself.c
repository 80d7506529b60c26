// SPDX-License-Identifier: MIT
// Records itself into records_itself.data, where this machine can, and says what it is doing.
#include <stdio.h>

#include "flowback/self.h"

int main(void) {
  struct flowback_self_options options = {.output = "records_itself.data"};
  if (!flowback_self_start(&options)) printf("not recorded: %s\n", flowback_self_reason());
  flowback_region_begin("greeting");
  puts("hello");
  flowback_region_end();
  flowback_self_stop();
  return 0;
}
