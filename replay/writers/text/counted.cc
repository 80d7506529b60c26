// SPDX-License-Identifier: MIT
#include "replay/writers/text/counted.h"

#include <fmt/format.h>

namespace flowback {

std::string Counted(uint64_t count, std::string_view one) {
  const char* const ending = one.ends_with("ss") || one.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : ending);
}

}  // namespace flowback
