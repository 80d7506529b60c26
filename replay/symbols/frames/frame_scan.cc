// SPDX-License-Identifier: MIT
#include "replay/symbols/frames/frame_scan.h"

#include <map>
#include <utility>
#include <vector>

#include "decode/instruction/classify.h"
#include "decode/instruction/x86/prefixes.h"

namespace flowback::symbols {
namespace {

// By x86's numbers, which are DWARF's for these two in 32-bit code.
constexpr unsigned kStackPointer = 4;
constexpr unsigned kFramePointer = 5;
constexpr size_t kMostInstructions = 1 << 14;

// The known facts at a place of a function's code. Distances are from the frame's begin (CFA) down.
struct FrameState {
  std::optional<uint64_t> size{};        // to the stack pointer
  std::optional<uint64_t> pointer_at{};  // to where the frame pointer points; empty: the caller's
  std::optional<uint64_t> saved_at{};    // to the caller's frame pointer on the stack

  friend bool operator==(const FrameState&, const FrameState&) = default;
};

// An instruction behind its prefixes.
struct Form {
  uint8_t opcode = 0;
  uint8_t reg = 0;
  uint8_t rm = 0;
  uint8_t mod = 0;
  bool extends_rm = false;
  bool extends_reg = false;
  Bytes rest{};  // behind ModRM

  bool IsRegister() const { return mod == 3 && !extends_rm && !extends_reg; }
  bool Is(unsigned to, unsigned from) const {  // MOV, in its two forms
    if (!IsRegister()) return false;
    return (opcode == 0x89 && rm == to && reg == from) ||
           (opcode == 0x8b && reg == to && rm == from);
  }
};

Form Read(Bytes code, bool is_64) {
  size_t at = 0;
  while (at < code.size() && x86::IsLegacyPrefix(code[at])) ++at;
  uint8_t rex = 0;
  if (is_64 && at < code.size() && x86::IsRex(code[at])) rex = code[at++];
  Form form{.extends_rm = (rex & 1) != 0, .extends_reg = (rex & 4) != 0};
  if (at < code.size()) form.opcode = code[at++];
  const uint8_t modrm = at < code.size() ? code[at++] : 0;
  form.mod = modrm >> 6;
  form.reg = modrm >> 3 & 7;
  form.rm = modrm & 7;
  form.rest = code.subspan(at);
  return form;
}

// A constant of one byte or four, with its sign.
uint64_t ConstantOf(Bytes bytes, bool is_byte) {
  if (bytes.size() < (is_byte ? 1U : 4U)) return 0;
  if (is_byte) return static_cast<uint64_t>(static_cast<int8_t>(bytes[0]));
  return static_cast<uint64_t>(static_cast<int32_t>(LoadLittleEndian(bytes.data(), 4)));
}

// Changes the state as one instruction does. Returns false where that is not understood.
class Step {
 public:
  Step(FrameState& state, Bytes code, bool is_64)
      : state_(state), form_(Read(code, is_64)), word_(is_64 ? 8 : 4) {}

  void Take() {
    const uint8_t opcode = form_.opcode;
    if ((opcode & 0xf8) == 0x50) return Push();
    if ((opcode & 0xf8) == 0x58) return Pop();
    if (opcode == 0x68 || opcode == 0x6a || opcode == 0x9c) return Grow(word_);
    if (opcode == 0x9d || (opcode == 0x8f && form_.reg == 0)) return Grow(-word_);
    if (opcode == 0xff && form_.reg == 6) return Grow(word_);
    if (opcode == 0xc9) return Leave();
    if (form_.Is(kFramePointer, kStackPointer)) return MakeFramePointer();
    if (form_.Is(kStackPointer, kFramePointer)) return ToFramePointer(0);
    if (opcode == 0x81 || opcode == 0x83) return AddConstant();
    if (opcode == 0x8d) return Address();
    if (WritesStackPointer()) state_.size.reset();
  }

 private:
  void Grow(uint64_t bytes) {
    if (state_.size) *state_.size += bytes;
  }
  void Push() {
    Grow(word_);
    const bool of_caller = (form_.opcode & 7) == kFramePointer && !form_.extends_rm;
    if (of_caller && !state_.pointer_at && !state_.saved_at) state_.saved_at = state_.size;
  }
  void Pop() {
    const bool is_saved =
        (form_.opcode & 7) == kFramePointer && !form_.extends_rm && state_.saved_at == state_.size;
    if ((form_.opcode & 7) == kStackPointer && !form_.extends_rm) return state_.size.reset();
    Grow(-word_);
    if (!is_saved) return;
    state_.pointer_at.reset();
    state_.saved_at.reset();
  }
  void MakeFramePointer() { state_.pointer_at = state_.size; }
  void ToFramePointer(uint64_t below) {
    state_.size = state_.pointer_at;
    Grow(below);
  }
  void Leave() {
    ToFramePointer(0);
    Grow(-word_);
    state_.pointer_at.reset();
    state_.saved_at.reset();
  }
  void AddConstant() {
    if (!form_.IsRegister() || form_.rm != kStackPointer) return;
    const uint64_t constant = ConstantOf(form_.rest, form_.opcode == 0x83);
    if (form_.reg == 0) return Grow(-constant);
    if (form_.reg == 5) return Grow(constant);
    if (form_.reg != 7) state_.size.reset();  // AND, to align it; CMP changes nothing
  }
  // LEA of the stack pointer.
  void Address() {
    if (form_.reg != kStackPointer || form_.extends_reg) return;
    const bool is_byte = form_.mod == 1;
    const bool has_constant = is_byte || form_.mod == 2;
    if (has_constant && form_.rm == kFramePointer && !form_.extends_rm)
      return ToFramePointer(-ConstantOf(form_.rest, is_byte));
    const bool of_itself = has_constant && form_.rm == 4 && !form_.rest.empty() &&
                           form_.rest[0] == 0x24 && !form_.extends_rm;
    if (of_itself) return Grow(-ConstantOf(form_.rest.subspan(1), is_byte));
    state_.size.reset();
  }
  // MOV, ADD, SUB and XCHG with the stack pointer as a register operand that is written.
  bool WritesStackPointer() const {
    switch (form_.opcode) {
      case 0x8b:
      case 0x03:
      case 0x2b:
        return form_.reg == kStackPointer && !form_.extends_reg;
      case 0x89:
      case 0x01:
      case 0x29:
        return form_.mod == 3 && form_.rm == kStackPointer && !form_.extends_rm;
      case 0x87:
        return (form_.mod == 3 && form_.rm == kStackPointer && !form_.extends_rm) ||
               (form_.reg == kStackPointer && !form_.extends_reg);
      default:
        return false;
    }
  }

  FrameState& state_;
  const Form form_;
  const uint64_t word_;
};

// Walks all ways from a function's begin. Where two of them meet in different states, one of them
// is none: it goes on behind a call that never returns.
class Walk {
 public:
  Walk(Bytes code, CodeMode mode)
      : code_(code), mode_(mode), word_(mode == CodeMode::kX86_64 ? 8 : 4) {}

  // The state at the instruction that `at` lies in.
  std::optional<FrameState> StateAt(uint64_t at) {
    open_.emplace_back(0, FrameState{.size = word_});
    while (!open_.empty()) {
      const auto [place, state] = open_.back();
      open_.pop_back();
      if (!Follow(place, state)) return std::nullopt;
    }
    auto found = seen_.upper_bound(at);
    if (found == seen_.begin()) return std::nullopt;
    --found;
    const bool holds = at - found->first < found->second.length;
    return holds ? std::optional(found->second.state) : std::nullopt;
  }

 private:
  struct Seen {
    FrameState state;
    uint8_t length = 0;
  };

  // Returns false where states contradict each other, or there is too much code.
  bool Follow(uint64_t place, FrameState state) {
    while (place < code_.size()) {
      const auto [seen, is_new] = seen_.try_emplace(place, Seen{.state = state});
      if (!is_new) return seen->second.state == state;
      if (seen_.size() > kMostInstructions) return false;
      Instruction instruction;
      if (!Classify(code_.subspan(place), mode_, instruction)) return true;
      seen->second.length = instruction.length;
      const uint64_t next = place + instruction.length;
      const uint64_t target = next + static_cast<uint64_t>(instruction.displacement);
      switch (instruction.kind) {
        case InstructionClass::kOther:
          Step(state, code_.subspan(place, instruction.length), word_ == 8).Take();
          break;
        case InstructionClass::kCall:
          // One to the next instruction leaves its address on the stack.
          if (target == next && state.size) *state.size += word_;
          break;
        case InstructionClass::kIndirectCall:
        case InstructionClass::kFarCall:
          break;
        case InstructionClass::kConditional:
          open_.emplace_back(target, state);
          break;
        case InstructionClass::kJump:
          open_.emplace_back(target, state);
          return true;
        default:
          return true;
      }
      place = next;
    }
    return true;
  }

  Bytes code_;
  CodeMode mode_;
  uint64_t word_;
  std::map<uint64_t, Seen> seen_;  // by place, of instructions
  std::vector<std::pair<uint64_t, FrameState>> open_;
};

// DWARF's numbers.
struct Numbers {
  unsigned stack_pointer;
  unsigned frame_pointer;
  unsigned return_address;
  int64_t word;
};
Numbers NumbersOf(CodeMode mode) {
  return mode == CodeMode::kX86_64 ? Numbers{7, 6, 16, 8} : Numbers{4, 5, 8, 4};
}

FrameRules RulesOf(unsigned base, uint64_t offset, std::optional<uint64_t> saved_at,
                   const Numbers& numbers) {
  FrameRules rules;
  rules.cfa_register = base;
  rules.cfa_offset = static_cast<int64_t>(offset);
  rules.return_register = numbers.return_address;
  rules.from_code = true;
  rules.registers[numbers.return_address] = {FrameRule::Kind::kAtCfa, -numbers.word, {}};
  if (saved_at)
    rules.registers[numbers.frame_pointer] = {
        FrameRule::Kind::kAtCfa, -static_cast<int64_t>(*saved_at), {}};
  return rules;
}

}  // namespace

std::optional<FrameRules> RulesFromBegin(Bytes code, uint64_t at, CodeMode mode) {
  if (mode != CodeMode::kX86_64 && mode != CodeMode::kX86_32) return std::nullopt;
  const auto state = Walk(code, mode).StateAt(at);
  if (!state) return std::nullopt;
  const Numbers numbers = NumbersOf(mode);
  if (state->size) return RulesOf(numbers.stack_pointer, *state->size, state->saved_at, numbers);
  if (!state->pointer_at) return std::nullopt;
  return RulesOf(numbers.frame_pointer, *state->pointer_at, state->saved_at, numbers);
}

std::optional<FrameRules> RulesFromFramePointer(Bytes code, CodeMode mode) {
  if (mode != CodeMode::kX86_64 && mode != CodeMode::kX86_32) return std::nullopt;
  const bool is_64 = mode == CodeMode::kX86_64;
  const Numbers numbers = NumbersOf(mode);
  const auto word = static_cast<uint64_t>(numbers.word);
  for (size_t back = is_64 ? 3 : 2; back <= code.size(); ++back) {
    const Bytes from = code.last(back);
    if (is_64 && from[0] != 0x48) continue;
    if (!Read(from, is_64).Is(kFramePointer, kStackPointer)) continue;
    // The frame pointer that was made here must be there at the end.
    FrameState state{.size = 2 * word, .pointer_at = {}, .saved_at = 2 * word};
    size_t place = 0;
    while (place < from.size()) {
      Instruction instruction;
      if (!Classify(from.subspan(place), mode, instruction)) break;
      if (instruction.kind == InstructionClass::kReturn) break;
      Step(state, from.subspan(place, instruction.length), is_64).Take();
      if (!state.pointer_at) break;
      place += instruction.length;
    }
    if (place != from.size()) return std::nullopt;
    return RulesOf(numbers.frame_pointer, 2 * word, 2 * word, numbers);
  }
  return std::nullopt;
}

}  // namespace flowback::symbols
