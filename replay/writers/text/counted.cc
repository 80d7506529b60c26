// SPDX-License-Identifier: MIT
#include "replay/writers/text/counted.h"

#include <fmt/format.h>

namespace flowback {

std::string GroupedDigits(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string Counted(uint64_t count, std::string_view one) {
  const char* const ending = one.ends_with("ss") || one.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", GroupedDigits(count), one, count == 1 ? "" : ending);
}

}  // namespace flowback
