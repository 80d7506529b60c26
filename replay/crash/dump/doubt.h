// SPDX-License-Identifier: MIT
// Whether the instruction at which a thread died raised the signal, if neither the recorder nor the
// core dump says so. Another process may have sent the signal: then the instruction is innocent.
#pragma once

#include <cstdint>
#include <string_view>

#include "decode/instruction/effects.h"
#include "flowback/base/bytes.h"
#include "flowback/decode/code_image.h"
#include "replay/crash/dump/fault.h"
#include "replay/debug/values/end_core.h"
#include "replay/debug/values/image_memory.h"

namespace flowback {

// Why the instruction may be innocent.
enum class SignalDoubt : uint8_t {
  kNone,        // it is not
  kAccessible,  // the memory that it accesses is there, and it may access it so
  kNoAccess,    // it accesses no memory
  kNoDivision,  // it computes nothing that can fail
  kLegal,       // the processor can execute it
  kNoCode       // its bytes are not here
};

struct DoubtFacts {
  int signal = 0;
  Bytes code;  // of the instruction, and more
  uint64_t address = 0;
  CodeMode mode = CodeMode::kX86_64;
  std::string_view text;                // of the instruction
  std::string_view before{};            // of the one that the thread executed last
  const FaultAccess* access = nullptr;  // null: not known
  const AddressSpace& space;
  const EndCore* core = nullptr;  // null: no dump
  ImageMemory& images;
};

SignalDoubt DoubtOf(const DoubtFacts& facts);

// Whether the process may access the memory as the instruction does. False where that is not known.
bool IsAccessible(const DoubtFacts& facts);

}  // namespace flowback
