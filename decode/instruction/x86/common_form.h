// SPDX-License-Identifier: MIT
// The length and class of the instructions that compilers write most, without a full decoder.
#pragma once

#include "flowback/base/bytes.h"
#include "flowback/model/instruction.h"

namespace flowback::x86 {

// Classifies the 64-bit instruction at the start of `code`. False: it is not one of the common
// forms, or `code` is shorter than an instruction may be; whether it is an instruction is not said
// then.
bool ClassifyCommonForm(Bytes code, Instruction& out);

}  // namespace flowback::x86
