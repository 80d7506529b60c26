// SPDX-License-Identifier: MIT
// Describes the instruction that raised a fault: what it reads, and whether it wrote.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback {

class EndCore;  // replay/debug/values/end_core.h

struct FaultOperand {
  std::string_view name;          // as gdb has it: "rax"
  std::optional<uint64_t> value;  // empty: not in the dump
  bool is_address = false;        // a part of the address that was accessed
};

struct FaultAccess {
  bool is_store = false;            // the access that failed
  bool is_stack = false;            // it is relative to the stack or the frame pointer
  std::optional<uint64_t> address;  // that was accessed, by the registers
  std::vector<FaultOperand> operands;
  // The operand that the bad address came from. Empty: the instruction contains the address.
  std::optional<size_t> culprit;
};

// `code`: the bytes from the instruction on, which is at `address`. `failed`: the address that
// could not be accessed, if it is known. `core` may be null. Empty: the instruction is not known.
std::optional<FaultAccess> AccessOf(Bytes code, uint64_t address, CodeMode mode,
                                    std::optional<uint64_t> failed, const EndCore* core,
                                    int32_t tid);

}  // namespace flowback
