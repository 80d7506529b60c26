// SPDX-License-Identifier: MIT
// What an instruction does, as a list of simple steps that are the same for all instruction sets.
//
//   lock xadd [rdi], eax      t0 <- load [rdi]; t1 <- t0 + eax; flags <- of the sum;
//                             store [rdi] <- t1; eax <- t0
//
// The steps are exact where a loop that waits for another thread needs them: addresses, the stack,
// sums, bits, comparisons, atomic operations. Everything else becomes kOther, which only says which
// values the result depends on.
#pragma once

#include <cstdint>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"

namespace flowback {

// Registers of steps. General registers come first, by the numbers of the instruction set; 31 is
// AArch64's stack pointer.
namespace step_register {
inline constexpr uint8_t kX86StackPointer = 4;
inline constexpr uint8_t kX86FramePointer = 5;
inline constexpr uint8_t kAArch64FramePointer = 29;
inline constexpr uint8_t kAArch64StackPointer = 31;
inline constexpr uint8_t kVector = 32;  // 32 of them
inline constexpr uint8_t kFlags = 64;
inline constexpr uint8_t kFsBase = 65;
inline constexpr uint8_t kGsBase = 66;      // AArch64: the thread pointer is kFsBase
inline constexpr uint8_t kOtherState = 67;  // x87, masks, control registers: all in one
inline constexpr uint8_t kTemporary = 68;   // these hold values within one instruction only
inline constexpr uint8_t kCount = 96;
}  // namespace step_register

struct StepOperand {
  enum class Kind : uint8_t { kNone, kConstant, kRegister };
  Kind kind = Kind::kNone;
  uint8_t number = 0;
  uint8_t bits = 64;    // of the register that count
  uint8_t shift = 0;    // of the lowest one that counts
  bool merges = false;  // where it is written: the register's other bits stay as they are
  uint64_t constant = 0;
};

constexpr StepOperand ConstantOperand(uint64_t value, unsigned bits = 64) {
  return {
      .kind = StepOperand::Kind::kConstant, .bits = static_cast<uint8_t>(bits), .constant = value};
}

constexpr StepOperand RegisterOperand(unsigned number, unsigned bits) {
  return {.kind = StepOperand::Kind::kRegister,
          .number = static_cast<uint8_t>(number),
          .bits = static_cast<uint8_t>(bits)};
}

enum class StepOperation : uint8_t {
  kCopy,
  kAdd,
  kSubtract,
  kAnd,
  kOr,
  kXor,
  kShiftLeft,
  kShiftRight,
  kShiftRightSigned,
  kMultiply,
  kRotateLeft,  // a by b modulo `bits`
  kByteSwap,
  kSignExtend,    // a, whose upper bit is bit b - 1
  kSelect,        // b where condition `a` holds, else c
  kCondition,     // whether `condition` holds for the flags `a`: 0 or 1
  kBit,           // the bit of a with number b, modulo `bits`
  kSingleBit,     // 1 << a, modulo `bits`
  kReverseBits,   // the lowest bit of a becomes the highest one
  kLeadingZeros,  // the number of zeros above a's highest one
  kMultiplyHigh,  // the upper 64 bits of the product of two numbers without a sign
  // Flags.
  kFlagsOfDifference,  // a - b
  kFlagsOfSum,         // a + b
  kFlagsOfResult,      // zero and sign of a; no carry, no overflow
  kFlagsOfZeroSign,    // zero and sign of a; the others are not known
  kFlagsOfZero,        // zero of a; the others are not known
  kFlagsOfCarry,       // the carry is a; the others are not known
  kOther,  // something that depends on a, b, c and on `constant`, which names the operation
};

// Whether the result is flags, which have no width of their own.
constexpr bool IsOfFlags(StepOperation operation) {
  return operation >= StepOperation::kFlagsOfDifference &&
         operation <= StepOperation::kFlagsOfCarry;
}

// Conditions have x86's numbers: 2 is "carry", 3 "no carry", 4 "zero" and so on.
namespace step_condition {
inline constexpr uint8_t kOverflow = 0;
inline constexpr uint8_t kCarry = 2;
inline constexpr uint8_t kZero = 4;
inline constexpr uint8_t kNotZero = 5;
inline constexpr uint8_t kCarryOrZero = 6;
inline constexpr uint8_t kSign = 8;
inline constexpr uint8_t kParity = 10;
inline constexpr uint8_t kLess = 12;
inline constexpr uint8_t kLessOrEqual = 14;
}  // namespace step_condition

// Memory: base + index * scale + displacement + segment.
struct StepAddress {
  StepOperand base{};
  StepOperand index{};
  StepOperand segment{};
  uint8_t scale = 1;
  uint8_t bits = 64;  // to which the sum without the segment is cut
  uint64_t displacement = 0;
};

enum class StepKind : uint8_t {
  kCompute,       // to <- operation(a, b, c)
  kAddress,       // to <- the address of `memory`
  kLoad,          // to <- memory
  kStore,         // memory <- a
  kStoreIf,       // memory <- a where condition `condition` of the flags b holds: compare and swap
  kStoreTry,      // memory <- a, or not; to <- 0 where it was done (AArch64's STXR)
  kBranch,        // a conditional jump: taken where `condition` holds for the flags a
  kIndirectJump,  // a jump, call or return to a
  kCall,          // control enters a function
  kReturn,        // control leaves a function
  kPause,         // a hint to the processor that the code waits
  kClock,         // to <- the time
  kRandom,        // to <- a random number, or what a device answers
  kSystemCall,    // with the number a; to <- the result
};

struct MachineStep {
  StepKind kind = StepKind::kCompute;
  StepOperation operation = StepOperation::kCopy;
  uint8_t condition = 0;
  uint8_t bits = 64;    // of the result; loads and stores: the number of BYTES
  bool atomic = false;  // a load or store that is half of an atomic operation
  StepOperand to{};
  StepOperand a{};
  StepOperand b{};
  StepOperand c{};
  StepAddress memory{};
  uint64_t constant = 0;  // kOther: the operation; a direct branch: its target
};

struct InstructionEffects {
  uint8_t length = 0;
  // It also writes memory that no step names: a string instruction, one that saves the processor's
  // state.
  bool writes_elsewhere = false;
  std::vector<MachineStep> steps;
};

// Sets the effects of the instruction at the start of `code`, which is at `address`. False: no
// instruction is known there, or nothing of its instruction set. Thread-safe.
bool EffectsOf(Bytes code, uint64_t address, CodeMode mode, InstructionEffects& effects);

// Properties of a single instruction that decide whether it can be in a loop that waits.
struct MemoryTraits {
  uint8_t length = 0;
  bool stores = false;  // to memory that is not reached by the stack or the frame pointer, other
                        // than by an atomic operation
  bool atomic = false;  // it reads and writes memory in one
  bool pauses = false;
};

// As EffectsOf, and faster. Thread-safe.
bool MemoryTraitsOf(Bytes code, CodeMode mode, MemoryTraits& traits);

}  // namespace flowback
