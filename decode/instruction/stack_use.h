// SPDX-License-Identifier: MIT
// Unusual stack operations of a block: they distinguish a switch of stacks from a return, and a
// jump written as a return.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback {

enum StackUseFlag : uint8_t {
  kLoadsStackPointer = 1 << 0,   // from elsewhere than a frame: another stack, or a frame far out
  kReadsReturnAddress = 1 << 1,  // of a function that begins with the block: it keeps where its
                                 // caller goes on, as setjmp and getcontext do
  kReturnWasPushed = 1 << 2,     // ends in a return to what the block pushed: a jump
  kReturnWasReplaced = 1 << 3,   // ends in a return whose address the block has overwritten
  // Keeps the stack pointer for later: it stores it outside of the stack, or holds it in a register
  // while it loads another one. A switch of stacks does that, since the stack that it leaves goes
  // on later. longjmp and the raise of an exception do not.
  kKeepsStackPointer = 1 << 4,
  kTakesAddresses = 1 << 5,  // contains constants that may be addresses of code (PlacesTakenBy)
};

struct StackUse {
  uint8_t flags = 0;        // StackUseFlag bits
  uint8_t loaded_from = 0;  // a register's number, or kFromMemory; where the pointer is loaded
  uint32_t keeps = 0;       // the registers to which it copies the pointer, as bits: a load from
                            // one of them takes it back to its frame
  static constexpr uint8_t kFromMemory = 0xff;
};

// Returns the use by the instructions with those lengths; `code` begins with the first. Empty for
// instruction sets that are not supported. Thread-safe.
StackUse StackUseOf(Bytes code, std::span<const uint8_t> lengths, CodeMode mode);

// An address that a block computes from its own place, or contains as a constant.
struct TakenPlace {
  uint64_t address = 0;
  bool pushed = false;  // the block pushes it, so it is gone once the stack is shorter again

  friend bool operator==(const TakenPlace&, const TakenPlace&) = default;
};

// Returns the addresses that a block takes: of data, of functions, or of places in its own function
// where it wants to go on later (the handler of an exception, the receiver of __builtin_setjmp).
// `code` holds the instructions with those lengths, the first of them at `address`. Constants that
// are no addresses are among them. Thread-safe.
std::vector<TakenPlace> PlacesTakenBy(Bytes code, uint64_t address,
                                      std::span<const uint8_t> lengths, CodeMode mode);

}  // namespace flowback
