// SPDX-License-Identifier: MIT
// The stack pointer is written by few forms: MOV and ADD or SUB of a constant, ADD and SUB of a
// register, and loads and stores that change their base, which stay on the stack. An epilogue takes
// it from the frame pointer. A switch of stacks and longjmp take it from another register.
//
//   mov x4, sp ; str x4, [x0, #104]        setjmp keeps it, and X30 as well
//   mov sp, x5 ; br x30                    longjmp takes it back
//   add sp, sp, x4 ; br x6                 an unwinder comes to a frame far out
//   mov x2, sp ; str x2, [x0, #248]        swapcontext keeps it, and loads another one
//   adr x8, handler ; stp x26, x8, [sp, #-16]!    where OCaml goes on after an exception
#include "decode/instruction/aarch64/stack_use.h"

#include <array>
#include <optional>

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

// ADR and ADRP.
bool IsAddressOfCode(uint32_t word) { return Field(word, 28, 24) == 0b10000; }
bool IsAdrp(uint32_t word) { return IsAddressOfCode(word) && Bit(word, 31); }

// A store of one register or two that lowers the stack pointer first.
bool Pushes(uint32_t word, uint32_t reg) {
  const bool one = Field(word, 31, 21) == 0b11111000000 && Field(word, 11, 10) == 0b11;
  const bool pair = Field(word, 31, 22) == 0b1010100110;
  if (Field(word, 9, 5) != kStackPointer) return false;
  return ((one || pair) && Field(word, 4, 0) == reg) || (pair && Field(word, 14, 10) == reg);
}

// The addresses that the block's instructions take, one after the other.
class AddressCollector {
 public:
  std::vector<TakenPlace> places;

  void Add(uint32_t word, uint64_t address) {
    for (uint32_t reg = 0; reg < kStackPointer; ++reg)
      if (taken_in_[reg] != 0 && Pushes(word, reg)) places[taken_in_[reg] - 1].pushed = true;
    const uint32_t to = Field(word, 4, 0);
    if (IsAddressOfCode(word)) {
      const auto distance =
          static_cast<uint64_t>(SignedField(word, 23, 5)) << 2 | Field(word, 30, 29);
      pages_[to] = std::nullopt;
      if (!IsAdrp(word)) return Take(to, address + distance);
      pages_[to] = (address & ~uint64_t{0xfff}) + (distance << 12);
    } else if (IsSumWithImmediate(word) && !Bit(word, 30) && !Bit(word, 22)) {
      const uint32_t from = Field(word, 9, 5);
      if (from != kStackPointer && pages_[from]) Take(to, *pages_[from] + Field(word, 21, 10));
    }
  }

 private:
  void Take(uint32_t reg, uint64_t address) {
    if (reg == kStackPointer) return;
    places.push_back({.address = address});
    taken_in_[reg] = places.size();
  }

  std::array<std::optional<uint64_t>, 32> pages_;  // by register, of ADRP
  std::array<size_t, 32> taken_in_{};  // by register: the number of its place, from 1 on
};

// Puts together what the instructions of a block do, one after the other.
class Collector {
 public:
  StackUse use;

  void Add(uint32_t word, bool before_br) {
    if (!reads_ && (StoresElsewhere(word, kReturnAddress) || ComputesFrom(word, kReturnAddress)))
      reads_ = true, use.flags |= kReadsReturnAddress;
    for (uint32_t reg = 0; reg < kStackPointer; ++reg)
      if (Keeps(reg) && StoresElsewhere(word, reg)) use.flags |= kKeepsStackPointer;
    if (IsAddressOfCode(word)) use.flags |= kTakesAddresses;
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
    if (use.keeps != 0) use.flags |= kKeepsStackPointer;
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

// A switch statement adds to the address of its first case, and jumps: that is no place to go on at
// later.
std::vector<TakenPlace> PlacesTakenBy(Bytes code, uint64_t address,
                                      std::span<const uint8_t> lengths, CodeMode) {
  if (lengths.empty() || code.size() < lengths.size() * kLength) return {};
  if (IsBr(WordAt(code.subspan((lengths.size() - 1) * kLength)))) return {};
  AddressCollector collector;
  for (size_t i = 0; i < lengths.size(); ++i)
    collector.Add(WordAt(code.subspan(i * kLength)), address + i * kLength);
  return collector.places;
}

}  // namespace flowback::aarch64
