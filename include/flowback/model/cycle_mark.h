// SPDX-License-Identifier: MIT
// How many core cycles the flow took, from mark to mark.
//
// Hardware counts cycles from one packet to another. Where such a packet times an instruction, or
// the event at which tracing starts or stops, that has a mark:
//
//     instructions  ---|---------|-----------------  stopped   started ----|------
//     marks            unknown   flow 40             flow 9    pause 3000   flow 12
//
// So what a mark tells is of the stretch that it ends. Between marks nothing is known of single
// instructions.
#pragma once

#include <cstdint>

namespace flowback {

struct CycleMark {
  enum class Since : uint8_t {
    kNoMark,   // there is none
    kUnknown,  // cycles are counted from here on: no mark came before it, or flow was lost since
    kFlow,     // of the instructions that the flow has since the mark before it
    kPause,    // of a time in which tracing was off: no instruction's
    kBoth,     // of instructions and of such a time: nothing tells how many of each
  };

  static constexpr CycleMark Of(Since since, uint64_t cycles) {
    return {cycles << kBits | static_cast<uint64_t>(since)};
  }
  Since since() const { return static_cast<Since>(value & ((1u << kBits) - 1)); }
  // Since the mark before it, for the last three.
  uint64_t cycles() const { return value >> kBits; }
  bool any() const { return value != 0; }
  friend bool operator==(const CycleMark&, const CycleMark&) = default;

  static constexpr unsigned kBits = 3;
  uint64_t value = 0;
};

}  // namespace flowback
