// SPDX-License-Identifier: MIT
// Reads all instructions that transfer control. For the others only their validity matters: the
// usual ones are known by their form, and LLVM checks the rest (a word of data in code is mostly
// invalid). Where LLVM is not installed they are taken for instructions.
#include "decode/instruction/aarch64/classify.h"

#include <optional>

#include "decode/instruction/aarch64/common_form.h"
#include "decode/instruction/aarch64/disassemble.h"
#include "decode/instruction/aarch64/word.h"

namespace flowback::aarch64 {
namespace {

using enum InstructionClass;

constexpr uint32_t kNoRegisterField = 31;  // where the form has no register

// `words` is counted from the instruction itself, not from the one behind it.
void SetBranch(InstructionClass kind, int64_t words, Instruction& out) {
  out.kind = kind;
  out.displacement = words * int64_t{kLength} - int64_t{kLength};
  if (kind == kCall && out.displacement == 0) out.flags |= kFlagZeroCall;
}

// BR, BLR, RET and ERET; with an address that is authenticated first: BRAA, BRAAZ, RETAA, ...
bool SetRegisterBranch(uint32_t word, Instruction& out) {
  constexpr uint32_t kAuthenticates = 0b00001;  // op3 without its lowest bit, which is the key
  const uint32_t opc = Field(word, 24, 21);
  const uint32_t op3 = Field(word, 15, 10);
  const uint32_t base = Field(word, 9, 5);
  const uint32_t last = Field(word, 4, 0);
  if (Field(word, 20, 16) != 0b11111) return false;
  const bool plain = op3 == 0 && last == 0;
  const bool authenticates = op3 >> 1 == kAuthenticates;
  const bool with_zero = authenticates && last == kNoRegisterField;  // as the modifier
  const bool no_base = base == kNoRegisterField;
  switch (opc) {
    case 0b0000:
    case 0b0001:
      if (!plain && !with_zero) return false;
      out.kind = opc == 0 ? kIndirectJump : kIndirectCall;
      return true;
    case 0b0010:
      // RETAASPPC has the register of the address that signed the return address in its last field.
      if (!plain && !(authenticates && no_base)) return false;
      out.kind = kReturn;
      return true;
    case 0b0100:  // ERET
      if (!no_base || (!plain && !with_zero)) return false;
      out.kind = kFarReturn;
      return true;
    case 0b0101:  // DRPS
      if (!no_base || !plain) return false;
      out.kind = kFarReturn;
      return true;
    case 0b1000:
    case 0b1001:
      if (!authenticates) return false;
      out.kind = opc == 0b1000 ? kIndirectJump : kIndirectCall;
      return true;
    default:
      return false;
  }
}

// SVC, HVC, SMC, BRK and HLT. Behind BRK and HLT it goes on where a debugger or handler says so.
bool SetException(uint32_t word, Instruction& out) {
  const uint32_t opc = Field(word, 23, 21);
  const uint32_t level = Field(word, 1, 0);
  if (Field(word, 4, 2) != 0) return false;
  const bool calls = opc == 0 && level != 0;
  const bool halts = (opc == 0b001 || opc == 0b010) && level == 0;
  if (!calls && !halts) return false;
  out.kind = kFarCall;
  if (calls) out.flags |= kFlagSyscall;
  return true;
}

// True: `out` is what the word is. False: it is no branch, or none that there is.
bool SetTransfer(uint32_t word, Instruction& out) {
  constexpr uint32_t kReturnBehindSigner = 0b0101'0101'00;  // RETAASPPC, RETABSPPC
  if (Field(word, 30, 26) == 0b00101) {
    SetBranch(Bit(word, 31) ? kCall : kJump, SignedField(word, 25, 0), out);
    return true;
  }
  if (Field(word, 30, 25) == 0b011010 || Field(word, 31, 24) == 0b01010100) {  // CBZ, CBNZ, B.cond
    SetBranch(kConditional, SignedField(word, 23, 5), out);
    return true;
  }
  if (Field(word, 30, 25) == 0b011011) {  // TBZ, TBNZ
    SetBranch(kConditional, SignedField(word, 18, 5), out);
    return true;
  }
  if (Field(word, 31, 25) == 0b1101011) return SetRegisterBranch(word, out);
  if (Field(word, 31, 24) == 0b11010100) return SetException(word, out);
  if (Field(word, 31, 22) == kReturnBehindSigner && Field(word, 4, 0) == kNoRegisterField) {
    out.kind = kReturn;
    return true;
  }
  if (word >> 16 == 0) {  // UDF, which always raises an exception
    out.kind = kFarCall;
    return true;
  }
  return false;
}

// Empty: LLVM is not installed.
std::optional<bool> IsInstructionToLlvm(Bytes code) {
  // Kept to the end of the process, as the library is.
  static auto& llvm = *new LlvmDisassembler(kLlvmTarget);
  if (!llvm.usable()) return std::nullopt;
  return llvm.Run(code.first(kLength), 0, nullptr) == kLength;
}

}  // namespace

bool ClassifyCommonForm(Bytes code, CodeMode, Instruction& out) {
  if (code.size() < kLength) return false;
  const uint32_t word = WordAt(code);
  out = {};
  out.length = kLength;
  return IsCommonForm(word) || SetTransfer(word, out);
}

bool ClassifyAnyForm(Bytes code, CodeMode mode, Instruction& out, bool* needed_llvm) {
  if (needed_llvm != nullptr) *needed_llvm = false;
  if (aarch64::ClassifyCommonForm(code, mode, out)) return true;
  if (code.size() < kLength || !MayBeInstruction(WordAt(code))) return false;
  if (needed_llvm != nullptr) *needed_llvm = true;
  return IsInstructionToLlvm(code).value_or(true);
}

// Uses no library but LLVM, and stored results do not depend on it.
uint64_t ClassifierLibraryVersion() { return 0; }

}  // namespace flowback::aarch64
