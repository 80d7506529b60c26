// SPDX-License-Identifier: MIT
// The colour of a function in pictures.
#pragma once

#include <cstdint>
#include <string_view>

namespace flowback {

// Returns an angle of the colour wheel: the same for the same name, in every picture.
inline unsigned HueOf(std::string_view name) {
  uint32_t hash = 7;
  for (const char c : name.substr(0, 200)) hash = hash * 31 + static_cast<uint8_t>(c);
  return hash % 360;
}

}  // namespace flowback
