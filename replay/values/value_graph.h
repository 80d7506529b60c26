// SPDX-License-Identifier: MIT
// The instructions of a path as steps between values.
//
// Each write of a register makes a new value, so a value never changes: the graph is in single
// assignment form. What a step proves of the values that it connects holds in both directions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "decode/instruction/effects.h"
#include "replay/values/path.h"

namespace flowback::values {

// The registers that are followed, by their index.
inline constexpr size_t kGeneral = 32;
inline constexpr size_t kFollowed = kGeneral + 3;
constexpr size_t kNotFollowed = kFollowed;
constexpr size_t FollowedIndex(uint8_t number) {
  if (number < kGeneral) return number;
  if (number >= step_register::kFlags && number <= step_register::kGsBase)
    return kGeneral + (number - step_register::kFlags);
  return kNotFollowed;
}

// A value's number.
using ValueId = uint32_t;
inline constexpr ValueId kNoValue = ~ValueId{0};

// Bits of a value, or a constant.
struct ValueSlice {
  ValueId value = kNoValue;
  uint8_t bits = 64;
  uint8_t shift = 0;
  uint64_t constant = 0;
};

struct GraphAddress {
  ValueSlice base{.bits = 64};
  ValueSlice index{.bits = 64};
  ValueSlice segment{.bits = 64};
  uint8_t scale = 1;
  uint8_t bits = 64;
  uint64_t displacement = 0;
  uint64_t mask = ~uint64_t{0};  // the bits of an address that count
};

struct GraphStep {
  enum class Kind : uint8_t {
    kCompute,     // to <- operation(a, b, c)
    kMerge,       // to <- something in its slice, old elsewhere
    kAddress,     // to <- the address
    kLoad,        // to <- memory
    kStore,       // memory <- a
    kStoreIf,     // memory <- a where the condition holds for the flags b
    kForget,      // all memory may change
    kForgetPart,  // a times `constant` bytes of memory from the address on may change
    kSystemCall,  // memory may change, depending on the call's number a
    kKeepBase,    // to <- old, unless the system call a may set it
    kSame,        // to = old
    kOutcome,     // the condition holds for the flags a, or does not (constant: 1, 0)
    kEqual,       // a is the constant
  };
  Kind kind = Kind::kCompute;
  StepOperation operation = StepOperation::kCopy;
  uint8_t condition = 0;
  uint8_t bits = 64;         // of the result; loads and stores: bytes
  bool has_mask = false;     // a store, which may leave bytes out
  bool by_others = false;    // kForget: other threads alone may have written to memory
  bool both_ways = false;    // kForgetPart: or downward from the first element there
  bool on_stack = false;     // a write at the stack pointer, wherever that points
  bool zero_extends = true;  // the bits of `to` above the slice are zero
  ValueSlice to{};
  ValueId old = kNoValue;  // whose bits `to` keeps beside the slice
  ValueSlice a{};
  ValueSlice b{};
  ValueSlice c{};
  uint32_t address = 0;  // index of the graph's addresses
  uint32_t instruction = 0;
  uint64_t constant = 0;
  uint64_t mask = ~uint64_t{0};  // kEqual: the bits that count
};

// The registers at a system call.
struct GraphCall {
  uint32_t instruction = 0;
  std::array<ValueId, kFollowed> before{};
  ValueId result = kNoValue;
};

struct ValueGraph {
  CodeMode mode = CodeMode::kX86_64;
  std::vector<ValueId> narrow;  // values of 32-bit registers: nothing is above
  std::vector<GraphStep> steps;
  std::vector<GraphAddress> addresses;
  std::vector<uint32_t> points;                           // the first step behind each point
  std::vector<std::array<ValueId, kFollowed>> registers;  // at each point
  std::vector<ValueId> gaps;          // the first of kFollowed values behind each hole in the flow
  std::vector<GraphCall> calls;       // in order; a step of kSystemCall has its index in `address`
  std::vector<uint32_t> definitions;  // by value: its step; kNoStep: none
  static constexpr uint32_t kNoStep = ~uint32_t{0};

  size_t values() const { return definitions.size(); }
};

// Instructions of other modes than the path's leave nothing known.
ValueGraph GraphOf(const ExecutedPath& path);

}  // namespace flowback::values
