// SPDX-License-Identifier: MIT
// x86's code modes, as tables by mode have them.
#pragma once

#include <Zydis/Zydis.h>

#include <array>

#include "flowback/model/code_mode.h"

namespace flowback::x86 {

// They are the first rows of the table of all modes, so that a table of theirs has no empty rows.
inline constexpr size_t kModes = 3;
static_assert(IndexOf(CodeMode::kX86_64) == 0 && IndexOf(CodeMode::kX86_32) == 1 &&
              IndexOf(CodeMode::kX86_16) == kModes - 1);

// What Zydis calls them.
struct MachineMode {
  ZydisMachineMode mode;
  ZydisStackWidth width;
};
inline constexpr std::array<MachineMode, kModes> kMachineModes = {{
    {ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64},
    {ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32},
    {ZYDIS_MACHINE_MODE_LEGACY_16, ZYDIS_STACK_WIDTH_16},
}};

}  // namespace flowback::x86
