// SPDX-License-Identifier: MIT
// Looks back from the last instruction for the MOV of a constant to X8. On the way there may be
// only instructions of a common form that name X8 in none of the fields where registers stand: so
// none of them can have written it.
#include "decode/instruction/aarch64/accumulator.h"

#include "decode/instruction/aarch64/common_form.h"
#include "decode/instruction/aarch64/word.h"

namespace flowback::aarch64 {
namespace {

constexpr uint32_t kNumberRegister = 8;

bool MayName(uint32_t word, uint32_t reg) {
  return Field(word, 4, 0) == reg || Field(word, 9, 5) == reg || Field(word, 14, 10) == reg ||
         Field(word, 20, 16) == reg;
}

// MOVZ without a shift, of either width.
bool IsMoveOfConstant(uint32_t word) {
  constexpr uint32_t kMovz = 0b10'1001'0100;  // bits 30 to 21, hw of 0
  return Field(word, 30, 21) == kMovz;
}

}  // namespace

std::optional<uint32_t> AccumulatorBehind(Bytes code, std::span<const uint8_t> lengths, CodeMode) {
  if (lengths.size() * kLength > code.size()) return std::nullopt;
  for (size_t i = lengths.size(); i > 0; --i) {
    const uint32_t word = WordAt(code.subspan((i - 1) * kLength));
    if (IsMoveOfConstant(word) && Field(word, 4, 0) == kNumberRegister) return Field(word, 20, 5);
    // The immediate of a MOV of a constant lies where others have registers.
    const bool moves = IsMoveOfConstant(word) && Field(word, 4, 0) != kNumberRegister;
    if (!moves && (!IsCommonForm(word) || MayName(word, kNumberRegister))) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace flowback::aarch64
