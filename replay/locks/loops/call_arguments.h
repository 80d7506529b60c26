// SPDX-License-Identifier: MIT
// The arguments of a system call, as far as the code that the thread executed just before shows
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "replay/locks/loops/trip.h"

namespace flowback {

struct CallArguments {
  std::optional<uint32_t> number;
  // The lowest seven bits of the second argument: a futex's operation without its flags. Where only
  // flags are not known, they are taken to lie above these bits.
  std::optional<uint8_t> operation;
};

// `parts` end with the system call. Thread-safe.
CallArguments ArgumentsOf(std::span<const TripPart> parts);

}  // namespace flowback
