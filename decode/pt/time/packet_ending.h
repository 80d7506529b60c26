// SPDX-License-Identifier: MIT
// How a packet ends, for who estimates times.
#pragma once

#include <cstdint>

namespace flowback::pt {

enum class PacketEnding : uint8_t {
  kProven,    // it is about the flow, and all that it proves has been handed on
  kDeferred,  // the same, of a TIP that the processor may have held back
  kStatus,    // it says nothing of the flow
};

}  // namespace flowback::pt
