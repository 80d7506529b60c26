// SPDX-License-Identifier: MIT
// decode/instruction/computation.h for x86.
#pragma once

#include <cstdint>

#include "decode/instruction/computation.h"
#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback::x86 {

Computation ComputationOf(Bytes code, uint64_t address, CodeMode mode);

}  // namespace flowback::x86
