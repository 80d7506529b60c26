// SPDX-License-Identifier: MIT
// Looks at the few forms in which compilers and people write to the stack pointer or to the word
// that it points to. An epilogue takes the stack pointer from the frame pointer, or from where it
// was kept in the frame: that stays on its stack. A switch of stacks, longjmp and the unwinder of
// exceptions take it from another register or from memory.
#include "decode/instruction/x86/stack_use.h"

#include <array>
#include <optional>

#include "decode/instruction/stack_use.h"
#include "decode/instruction/x86/prefixes.h"

namespace flowback::x86 {
namespace {

constexpr uint8_t kStackPointer = 4;
constexpr uint8_t kFramePointer = 5;

// What an instruction does to the stack.
enum class Effect : uint8_t {
  kNone,
  kMoves,         // the pointer, within its stack
  kPushes,        // one word
  kPops,          // one word, to a register
  kLoads,         // the pointer, from elsewhere
  kExchanges,     // reads the top, and leaves it there
  kKeeps,         // the pointer, in another register
  kKeepsCallers,  // keeps it as after the function's return
  kStores,        // a register, outside of the stack
  kSets,          // a register
  kReadsTop,      // the word that the pointer points to
  kReplacesTop,   // writes the top
};

struct Effects {
  Effect effect = Effect::kNone;
  uint8_t other = 0;  // the register of all but the first three; StackUse::kFromMemory
  bool takes_address = false;
};

// An opcode with its registers, REX bits included; memory operands as far as they are needed.
struct Operands {
  uint8_t opcode = 0;
  uint8_t reg = 0;
  uint8_t rm = 0;  // of a register operand, or the base of a memory operand
  bool is_register = false;
  bool is_top = false;       // the word at the stack pointer
  uint8_t displacement = 0;  // of one byte; 0: no displacement
  bool is_relative = false;  // a memory operand at a distance from the next instruction
};

Operands Read(Bytes code, bool rex_allowed) {
  size_t at = 0;
  while (at < code.size() && IsLegacyPrefix(code[at])) ++at;
  uint8_t rex = 0;
  if (rex_allowed && at < code.size() && IsRex(code[at])) rex = code[at++];
  Operands result;
  if (at >= code.size()) return result;
  result.opcode = code[at++];
  const uint8_t modrm = at < code.size() ? code[at++] : 0;
  const uint8_t mod = modrm >> 6;
  const uint8_t extension = (rex & 1) << 3;
  result.reg = static_cast<uint8_t>(((modrm >> 3) & 7) | ((rex & 4) << 1));
  result.is_register = mod == 3;
  const bool has_sib = mod != 3 && (modrm & 7) == 4;
  const uint8_t sib = has_sib && at < code.size() ? code[at] : 0;
  result.rm = static_cast<uint8_t>((has_sib ? sib & 7 : modrm & 7) | extension);
  // No index is the stack pointer's number; a base of the frame pointer without displacement is
  // none.
  result.is_top = has_sib && mod == 0 && (sib & 0x3f) == 0x24 && (rex & 3) == 0;
  result.is_relative = rex_allowed && mod == 0 && (modrm & 7) == 5;
  if (!result.is_register && mod == 0 && (modrm & 7) == 5) result.rm = 0;
  if (has_sib) ++at;
  if (mod == 1 && at < code.size()) result.displacement = code[at];
  return result;
}

// The opcodes that have a register in their lowest bits.
uint8_t RegisterOf(Bytes code, uint8_t opcode, bool rex_allowed) {
  size_t at = 0;
  while (at < code.size() && IsLegacyPrefix(code[at])) ++at;
  const bool extended = rex_allowed && at < code.size() && IsRex(code[at]) && (code[at] & 1) != 0;
  return static_cast<uint8_t>((opcode & 7) | (extended ? 8 : 0));
}

Effects OfMove(uint8_t to, uint8_t from) {
  if (to == kStackPointer && from == kFramePointer) return {Effect::kMoves};
  if (to == kStackPointer) return {Effect::kLoads, from};
  // A frame pointer is what every function has.
  if (from == kStackPointer && to != kFramePointer) return {Effect::kKeeps, to};
  return {Effect::kSets, to};
}

Effects OfMoveToMemory(const Operands& o) {
  if (o.is_top) return {Effect::kReplacesTop};
  if (o.rm == kStackPointer || o.rm == kFramePointer) return {};
  return {Effect::kStores, o.reg};
}

// The address of what lies above the return address where a function begins.
Effects OfAddress(const Operands& o, bool wide) {
  if (o.reg == kStackPointer) return {Effect::kMoves};
  if (o.rm == kStackPointer && o.displacement == (wide ? 8 : 4))
    return {Effect::kKeepsCallers, o.reg};
  return {Effect::kSets, o.reg, o.is_relative};
}

Effects OfMoveFromMemory(const Operands& o) {
  if (o.reg != kStackPointer && o.is_top) return {Effect::kReadsTop, o.reg};
  if (o.reg != kStackPointer) return {Effect::kSets, o.reg};
  if (o.rm == kFramePointer) return {Effect::kMoves};
  return {Effect::kLoads, StackUse::kFromMemory};
}

Effects OfExchange(const Operands& o) {
  if (o.is_register && o.rm == kStackPointer) return {Effect::kExchanges, o.reg};
  if (o.reg == kStackPointer)
    return {Effect::kExchanges, o.is_register ? o.rm : StackUse::kFromMemory};
  return {o.is_top ? Effect::kReplacesTop : Effect::kNone};
}

// Opcodes that have a register in their lowest bits.
Effects OfShortForm(Bytes code, uint8_t opcode, bool rex_allowed) {
  const uint8_t reg = RegisterOf(code, opcode, rex_allowed);
  if ((opcode & 0xf8) == 0x50) return {Effect::kPushes};
  if ((opcode & 0xf8) == 0x58) {
    if (reg == kStackPointer) return {Effect::kLoads, StackUse::kFromMemory};
    return {Effect::kPops, reg};
  }
  if (opcode == 0x94 && reg == kStackPointer) return {Effect::kExchanges, 0};
  if ((opcode & 0xf8) == 0xb8) return {Effect::kSets, reg, true};
  return {};
}

Effects EffectOf(Bytes code, bool rex_allowed) {
  const Operands o = Read(code, rex_allowed);
  const bool of_pointer = o.is_register && o.rm == kStackPointer;
  switch (o.opcode) {
    case 0x89:  // MOV to register or memory
      return o.is_register ? OfMove(o.rm, o.reg) : OfMoveToMemory(o);
    case 0x8b:  // MOV to register
      return o.is_register ? OfMove(o.reg, o.rm) : OfMoveFromMemory(o);
    case 0xc7:  // MOV of a constant to memory
      return {o.is_top ? Effect::kReplacesTop : Effect::kNone, 0, true};
    case 0x87:
      return OfExchange(o);
    case 0x68:
    case 0x6a:
    case 0x9c:  // PUSH of a constant, PUSHF
      return {Effect::kPushes, 0, o.opcode == 0x68};
    case 0xff:
      return {(o.reg & 7) == 6 ? Effect::kPushes : Effect::kNone};
    case 0x81:
    case 0x83:  // arithmetic with a constant
      return {of_pointer ? Effect::kMoves : Effect::kNone};
    case 0x01:
    case 0x29:
    case 0x03:
    case 0x2b:  // ADD and SUB
      return {of_pointer || o.reg == kStackPointer ? Effect::kMoves : Effect::kNone};
    case 0x8d:  // LEA
      return OfAddress(o, rex_allowed);
    case 0x8f:
    case 0x9d:
    case 0xc8:
    case 0xc9:  // POP, POPF, ENTER, LEAVE
      return {Effect::kMoves};
    default:
      return OfShortForm(code, o.opcode, rex_allowed);
  }
}

bool IsReturn(Bytes code, bool rex_allowed) {
  const Bytes rest = BehindPrefixes(code, rex_allowed);
  return !rest.empty() && rest[0] == 0xc3;
}

// Puts together what the instructions of a block do, one after the other.
class Collector {
 public:
  StackUse use;

  void Add(const Effects& effects) {
    if (effects.takes_address) use.flags |= kTakesAddresses;
    switch (effects.effect) {
      case Effect::kNone:
        return;
      case Effect::kReadsTop:
        if (!moved_) use.flags |= kReadsReturnAddress;
        return Set(effects.other);
      case Effect::kKeeps:
        use.keeps |= 1U << effects.other;
        held_ |= 1U << effects.other;
        return;
      case Effect::kKeepsCallers:
        Set(effects.other);
        if (!moved_) held_ |= 1U << effects.other;
        return;
      case Effect::kStores:
        if (effects.other == kStackPointer || Holds(effects.other)) use.flags |= kKeepsStackPointer;
        return;
      case Effect::kSets:
        return Set(effects.other);
      case Effect::kReplacesTop:
        last_ = effects.effect;
        return;
      case Effect::kLoads:
      case Effect::kExchanges:
        Load(effects.other, effects.effect == Effect::kExchanges);
        break;
      case Effect::kPops:
        Set(effects.other);
        break;
      case Effect::kMoves:
      case Effect::kPushes:
        break;
    }
    moved_ = true;
    last_ = effects.effect;
  }
  void Return() {
    if (last_ == Effect::kPushes) use.flags |= kReturnWasPushed;
    if (last_ == Effect::kReplacesTop) use.flags |= kReturnWasReplaced;
  }

 private:
  bool Holds(uint8_t reg) const { return reg < 32 && (held_ >> reg & 1) != 0; }
  void Set(uint8_t reg) { held_ &= ~(1U << reg); }
  void Load(uint8_t from, bool exchanges) {
    if (from != StackUse::kFromMemory && (use.keeps >> from & 1) != 0) return;
    use.flags |= kLoadsStackPointer;
    if (exchanges || held_ != 0) use.flags |= kKeepsStackPointer;
    use.loaded_from = from;
  }

  bool moved_ = false;           // the stack pointer is not what it was where the block began
  Effect last_ = Effect::kNone;  // that matters to a return
  uint32_t held_ = 0;            // registers with the stack pointer, as bits
};

// The constant at an instruction's end: 8 bytes of MOV with REX.W, else 4.
std::optional<uint64_t> AddressTakenBy(Bytes code, uint64_t next, bool rex_allowed) {
  const Operands o = Read(code, rex_allowed);
  const bool moves = (o.opcode & 0xf8) == 0xb8 || o.opcode == 0xc7 || o.opcode == 0x68;
  const bool relative = o.opcode == 0x8d && o.is_relative;
  if ((!moves && !relative) || code.size() < 5) return std::nullopt;
  const bool is_long = (o.opcode & 0xf8) == 0xb8 && code.size() >= 10;
  const size_t width = is_long ? 8 : 4;
  const uint64_t value = LoadLittleEndian(code.data() + code.size() - width, width);
  if (is_long || (o.opcode & 0xf8) == 0xb8) return value;
  const auto extended = static_cast<uint64_t>(static_cast<int32_t>(value));
  const uint64_t address = relative ? next + extended : extended;
  return rex_allowed ? address : address & 0xffffffff;
}

// The register that takes the address; none where it is memory or the stack.
std::optional<uint8_t> TakerOf(Bytes code, bool rex_allowed) {
  const Operands o = Read(code, rex_allowed);
  if (o.opcode == 0x8d) return o.reg;
  if ((o.opcode & 0xf8) == 0xb8) return RegisterOf(code, o.opcode, rex_allowed);
  return std::nullopt;
}

}  // namespace

StackUse StackUseOf(Bytes code, std::span<const uint8_t> lengths, CodeMode mode) {
  if (mode == CodeMode::kX86_16) return {};
  const bool rex = mode == CodeMode::kX86_64;
  Collector collector;
  Bytes last;
  for (const uint8_t length : lengths) {
    last = Slice(code, 0, length);
    code = Slice(code, length, code.size());
    collector.Add(EffectOf(last, rex));
  }
  if (IsReturn(last, rex)) collector.Return();
  return collector.use;
}

std::vector<TakenPlace> PlacesTakenBy(Bytes code, uint64_t address,
                                      std::span<const uint8_t> lengths, CodeMode mode) {
  std::vector<TakenPlace> places;
  if (mode == CodeMode::kX86_16) return places;
  const bool rex = mode == CodeMode::kX86_64;
  std::array<size_t, 16> taken_in{};  // by register: the number of its place, from 1 on
  for (const uint8_t length : lengths) {
    const Bytes each = Slice(code, 0, length);
    code = Slice(code, length, code.size());
    address += length;
    const uint8_t opcode = Read(each, rex).opcode;
    if ((opcode & 0xf8) == 0x50) {
      const size_t number = taken_in[RegisterOf(each, opcode, rex)];
      if (number != 0) places[number - 1].pushed = true;
    }
    const auto place = AddressTakenBy(each, address, rex);
    if (!place) continue;
    places.push_back({.address = *place, .pushed = opcode == 0x68});
    if (const auto taker = TakerOf(each, rex)) taken_in[*taker] = places.size();
  }
  return places;
}

}  // namespace flowback::x86
