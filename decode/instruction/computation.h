// SPDX-License-Identifier: MIT
// What an instruction computes, as far as one must know to see through the jump tables that
// compilers write.
#pragma once

#include <cstdint>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback {

// General registers have the numbers that the instruction set encodes them by.
constexpr uint8_t kNoRegister = 0xff;

// base + index * scale + displacement. Without a base, where it is relative to the instruction, the
// displacement is the address.
struct MemoryAddress {
  uint8_t base = kNoRegister;
  uint8_t index = kNoRegister;
  uint8_t scale = 0;
  uint8_t index_bits = 0;     // low bits of the index that are extended first; 0: all count
  bool index_signed = false;  // they are extended by their sign
  uint64_t displacement = 0;
};

enum class Operation : uint8_t {
  kOther,
  kConstant,  // to <- constant
  kCopy,      // to <- from; its upper bits may change
  kAddress,   // to <- the address of `memory`
  kLoad,      // to <- the word in `memory`
  kAdd,       // to <- to + from
  kMask,      // to <- the bits of `from` that are in `constant`, which is 2^n - 1
  kCompare,   // from with constant; where there is a `to`, that gets the difference
  kJump,      // to `from`; if it is kNoRegister, to the word in `memory`
};

struct Computation {
  Operation operation = Operation::kOther;
  uint8_t to = kNoRegister;
  uint8_t from = kNoRegister;
  uint8_t bits = 0;        // of the value that is loaded or copied
  bool is_signed = false;  // of one that is loaded on AArch64: it is extended by its sign
  MemoryAddress memory;
  uint64_t constant = 0;
  uint32_t writes = 0;  // registers whose value may be another one afterwards, as bits
};

// Returns the computation of the instruction at the start of `code`, which is at `address`. Empty
// for instruction sets that are not supported; `writes` is then all registers. Thread-safe.
Computation ComputationOf(Bytes code, uint64_t address, CodeMode mode);

}  // namespace flowback
