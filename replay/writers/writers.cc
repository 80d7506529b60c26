// SPDX-License-Identifier: MIT
#include "replay/writers/writers.h"

namespace flowback {

std::span<const Writer> Writers() {
  static const Writer kWriters[] = {
#define FLOWBACK_WRITER(what, name, function, summary) {name, &function, summary},
#include FLOWBACK_WRITERS_TABLE
#undef FLOWBACK_WRITER
  };
  return kWriters;
}

}  // namespace flowback
