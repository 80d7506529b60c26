// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "flowback/decode/code_image.h"
#include "flowback/model/code_mode.h"

namespace flowback {

// Returns whether the instruction ahead of `address` may be a call, so that the call would return
// there. Code of x86 can be read backwards in several ways; one that ends in a call suffices.
bool IsBehindCall(const AddressSpace& space, uint64_t address, CodeMode mode);

}  // namespace flowback
