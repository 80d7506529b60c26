// SPDX-License-Identifier: MIT
// The stack pointer is written by few forms: MOV and ADD or SUB of a constant, ADD and SUB of a
// register, and loads and stores that change their base, which stay on the stack. An epilogue takes
// it from the frame pointer. A switch of stacks and longjmp take it from another register.
//
//   mov x4, sp ; str x4, [x0, #104]        setjmp keeps it, and X30 as well
//   mov sp, x5 ; br x30                    longjmp takes it back
//   add sp, sp, x4 ; br x6                 an unwinder comes to a frame far out
#include "decode/instruction/aarch64/stack_use.h"

#include "decode/instruction/aarch64/word.h"

namespace flowback::aarch64 {
namespace {

constexpr uint32_t kFramePointer = 29;
constexpr uint32_t kReturnAddress = 30;
constexpr uint32_t kStackPointer = 31;  // where a form has it

bool IsBr(uint32_t word) { return Field(word, 31, 25) == 0b1101011 && Field(word, 24, 21) == 0; }

// ADD and SUB of a constant, of 64 bits; MOV to or from the stack pointer is an ADD of 0.
bool IsSumWithImmediate(uint32_t word) {
  return Bit(word, 31) && !Bit(word, 29) && Field(word, 28, 23) == 0b100010;
}
// ADD and SUB of a register that is extended: those that have a stack pointer.
bool IsSumWithRegister(uint32_t word) {
  return Bit(word, 31) && !Bit(word, 29) && Field(word, 28, 21) == 0b01011001;
}

// A store whose base is not the stack.
bool StoresElsewhere(uint32_t word, uint32_t reg) {
  const bool one = Field(word, 29, 27) == 0b111 && !Bit(word, 26) && Field(word, 23, 22) == 0 &&
                   (Bit(word, 24) || !Bit(word, 21));
  const bool pair = Field(word, 29, 27) == 0b101 && !Bit(word, 26) && !Bit(word, 22);
  if (Field(word, 9, 5) == kStackPointer) return false;
  return ((one || pair) && Field(word, 4, 0) == reg) || (pair && Field(word, 14, 10) == reg);
}

// AND, ORR, EOR and their like, ADD, SUB.
bool ComputesFrom(uint32_t word, uint32_t reg) {
  const bool computes = Field(word, 28, 25) == 0b0101 && !Bit(word, 28);
  return computes && Field(word, 4, 0) != reg &&
         (Field(word, 9, 5) == reg || Field(word, 20, 16) == reg);
}

// Puts together what the instructions of a block do, one after the other.
class Collector {
 public:
  StackUse use;

  void Add(uint32_t word, bool before_br) {
    if (!reads_ && (StoresElsewhere(word, kReturnAddress) || ComputesFrom(word, kReturnAddress)))
      reads_ = true, use.flags |= kReadsReturnAddress;
    const uint32_t to = Field(word, 4, 0);
    const uint32_t from = Field(word, 9, 5);
    if (IsSumWithImmediate(word)) return Move(to, from);
    if (!IsSumWithRegister(word)) return;
    const uint32_t added = Field(word, 20, 16);
    if (to == kStackPointer && from == kStackPointer && before_br && !Bit(word, 30))
      return Load(added);
    Move(to, from);
  }

 private:
  void Move(uint32_t to, uint32_t from) {
    if (to == from) return;
    if (to == kStackPointer) {
      if (from != kFramePointer) Load(from);
    } else if (to != kFramePointer && (from == kStackPointer || Keeps(from))) {
      use.keeps |= 1U << to;
    }
  }
  void Load(uint32_t from) {
    if (Keeps(from)) return;
    use.flags |= kLoadsStackPointer;
    use.loaded_from = static_cast<uint8_t>(from);
  }
  bool Keeps(uint32_t reg) const { return (use.keeps >> reg & 1) != 0; }

  bool reads_ = false;
};

}  // namespace

StackUse StackUseOf(Bytes code, std::span<const uint8_t> lengths, CodeMode) {
  Collector collector;
  if (lengths.empty() || code.size() < lengths.size() * kLength) return {};
  const bool ends_in_br = IsBr(WordAt(code.subspan((lengths.size() - 1) * kLength)));
  for (size_t i = 0; i < lengths.size(); ++i)
    collector.Add(WordAt(code.subspan(i * kLength)), ends_in_br);
  return collector.use;
}

}  // namespace flowback::aarch64
