// SPDX-License-Identifier: MIT
// Which words are instructions, as far as compilers write them most.
#pragma once

#include <cstdint>

namespace flowback::aarch64 {

// True: the word is an instruction, and no branch. False: it is one of those that transfer control,
// of a less usual kind, or none.
bool IsCommonForm(uint32_t word);
// False: the architecture has no instruction in that part of the words, or UDF.
bool MayBeInstruction(uint32_t word);

}  // namespace flowback::aarch64
