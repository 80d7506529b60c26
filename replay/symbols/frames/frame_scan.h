// SPDX-License-Identifier: MIT
// How a frame's caller is found where no table says so: from the code of its function. The linker
// adds code without tables to every program (what runs the destructors of C++, _init and _fini),
// and so does who writes assembly.
//
//   push %rbp             CFA is %rsp+16, and %rbp of the caller lies at CFA-16
//   mov  %rsp,%rbp        from here on CFA is %rbp+16 as well
//   sub  $24,%rsp         CFA is %rsp+40
#pragma once

#include <cstdint>
#include <optional>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"
#include "replay/symbols/frames/frame_rules.h"

namespace flowback::symbols {

// Follows the code from the begin of a function to the place `at`, on the ways that its direct
// branches leave. `code` begins with the function's first byte and may go on behind `at`, which is
// an offset in it. Empty: no way leads there, or the code changes the stack pointer in an unknown
// way. x86 only.
std::optional<FrameRules> RulesFromBegin(Bytes code, uint64_t at, CodeMode mode);

// For code whose functions' begins are unknown: looks back from its end for the instruction that
// makes the frame pointer. Empty: not found, or the function may have left the frame between.
std::optional<FrameRules> RulesFromFramePointer(Bytes code, CodeMode mode);

}  // namespace flowback::symbols
