// SPDX-License-Identifier: MIT
// Follows control flow through an object's code, from given places.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/model/instruction.h"
#include "flowback/replay/object_image.h"
#include "replay/coverage/code_outline.h"

namespace flowback {

// Two bytes for each byte of code, and the branches between.
class CodeFlow {
 public:
  // `image` must outlive it.
  CodeFlow(const ObjectImage& image, const CodeOutline& outline);

  // From an instruction that may be executed, to all to which it leads.
  void Follow(uint64_t entry);

  struct Jump {
    uint64_t target = 0;
    uint64_t source = 0;
    friend auto operator<=>(const Jump&, const Jump&) = default;
  };
  // Direct ones, and conditional ones as taken; in no order.
  const std::vector<Jump>& jumps() const { return jumps_; }
  void AddJump(Jump jump) { jumps_.push_back(jump); }
  // Indirect ones, in no order.
  const std::vector<uint64_t>& indirect_jumps() const { return indirect_jumps_; }

  bool IsInstruction(uint64_t address) const { return LengthAt(address) != 0; }
  uint8_t LengthAt(uint64_t address) const;
  InstructionClass KindAt(uint64_t address) const;
  // Whether control is known to come there from elsewhere than the instruction before.
  bool IsLeader(uint64_t address) const;
  void MakeLeader(uint64_t address);
  // From there to the section's end.
  Bytes CodeAt(uint64_t address) const;
  CodeMode mode() const { return mode_; }

 private:
  enum Flag : uint8_t {
    kLeader = 1 << 0,
    kFunctionBegins = 1 << 1,
    kFunctionEnds = 1 << 2,
  };
  struct Section {
    uint64_t begin = 0;
    Bytes code;
    std::vector<uint8_t> marks;  // length, and the class above it; 0: no instruction begins there
    std::vector<uint8_t> flags;
    uint64_t end() const { return begin + code.size(); }
  };

  const Section* SectionAt(uint64_t address) const;
  Section* SectionAt(uint64_t address) {
    return const_cast<Section*>(std::as_const(*this).SectionAt(address));
  }
  void Flag(uint64_t address, uint8_t flag);
  void Walk(Section& section, size_t at);
  // Returns false if control does not go on after the instruction.
  bool GoesOn(const Section& section, size_t at, const Instruction& instruction) const;
  bool IsPaddingUpToFunctionEnd(const Section& section, size_t at) const;
  void Push(uint64_t source, const Instruction& instruction);

  CodeMode mode_;
  std::vector<Section> sections_;
  mutable size_t last_ = 0;  // the section that was asked for last
  std::vector<uint64_t> pending_;
  std::vector<Jump> jumps_;
  std::vector<uint64_t> indirect_jumps_;
};

}  // namespace flowback
