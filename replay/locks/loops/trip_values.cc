// SPDX-License-Identifier: MIT
#include "replay/locks/loops/trip_values.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace flowback {
namespace {

constexpr uint64_t MaskOf(unsigned bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

uint64_t SignExtended(uint64_t value, unsigned bits) {
  if (bits == 0 || bits >= 64) return value;
  const uint64_t sign = uint64_t{1} << (bits - 1);
  value &= MaskOf(bits);
  return (value ^ sign) - sign;
}

// The known flags of an operation on constants.
struct KnownFlags {
  std::optional<bool> zero;
  std::optional<bool> carry;
  std::optional<bool> sign;
  std::optional<bool> overflow;
};

KnownFlags FlagsOfSum(uint64_t a, uint64_t b, unsigned bits, bool subtract) {
  const uint64_t mask = MaskOf(bits);
  a &= mask;
  b &= mask;
  const uint64_t result = (subtract ? a - b : a + b) & mask;
  const unsigned top = bits == 0 ? 0 : bits - 1;
  const bool sign_a = (a >> top & 1) != 0;
  const bool sign_b = (b >> top & 1) != 0;
  const bool sign = (result >> top & 1) != 0;
  KnownFlags flags;
  flags.zero = result == 0;
  flags.sign = sign;
  flags.carry = subtract ? a < b : result < a;
  flags.overflow =
      subtract ? sign_a != sign_b && sign != sign_a : sign_a == sign_b && sign != sign_a;
  return flags;
}

// Sets the zero and sign flags of a value, as far as its known bits decide them.
void SetZeroSign(const TripValue& result, unsigned bits, KnownFlags& flags) {
  const uint64_t mask = MaskOf(bits);
  if ((result.ones & mask) != 0) flags.zero = false;
  if ((result.zeros & mask) == mask) flags.zero = true;
  const uint64_t top = uint64_t{1} << (bits == 0 ? 0 : bits - 1);
  if ((result.ones & top) != 0) flags.sign = true;
  if ((result.zeros & top) != 0) flags.sign = false;
}

KnownFlags FlagsOf(const TripValues& values, const TripValue& flags) {
  KnownFlags known;
  const auto a = values.ConstantOf(flags.a);
  const auto b = values.ConstantOf(flags.b);
  switch (flags.operation) {
    case StepOperation::kFlagsOfDifference:
      if (flags.a == flags.b) return FlagsOfSum(0, 0, flags.condition, true);
      if (a && b) return FlagsOfSum(*a, *b, flags.condition, true);
      // Bits that are known to differ.
      if (((values[flags.a].ones & values[flags.b].zeros) |
           (values[flags.a].zeros & values[flags.b].ones)) &
          MaskOf(flags.condition))
        known.zero = false;
      if (b && *b == 0) {
        SetZeroSign(values[flags.a], flags.condition, known);
        known.carry = known.overflow = false;
      }
      return known;
    case StepOperation::kFlagsOfSum:
      if (a && b) return FlagsOfSum(*a, *b, flags.condition, false);
      return known;
    case StepOperation::kFlagsOfResult:
      known.carry = known.overflow = false;
      [[fallthrough]];
    case StepOperation::kFlagsOfZero:
    case StepOperation::kFlagsOfZeroSign:
      SetZeroSign(values[flags.a], flags.condition, known);
      if (flags.operation == StepOperation::kFlagsOfZero) known.sign.reset();
      return known;
    case StepOperation::kFlagsOfCarry:
      if (a) known.carry = (*a & 1) != 0;
      return known;
    default:
      return known;
  }
}

std::optional<bool> Either(std::optional<bool> a, std::optional<bool> b) {
  if ((a && *a) || (b && *b)) return true;
  if (a && b) return false;
  return std::nullopt;
}

std::optional<bool> Differ(std::optional<bool> a, std::optional<bool> b) {
  return a && b ? std::optional(*a != *b) : std::nullopt;
}

std::optional<uint64_t> FoldConstants(const TripValue& value, uint64_t a, uint64_t b) {
  const unsigned bits = value.bits;
  const unsigned wrapped = bits == 0 ? 0 : static_cast<unsigned>(b) % bits;
  switch (value.operation) {
    case StepOperation::kAdd:
      return a + b;
    case StepOperation::kSubtract:
      return a - b;
    case StepOperation::kAnd:
      return a & b;
    case StepOperation::kOr:
      return a | b;
    case StepOperation::kXor:
      return a ^ b;
    case StepOperation::kMultiply:
      return a * b;
    case StepOperation::kShiftLeft:
      return b >= bits ? 0 : a << b;
    case StepOperation::kShiftRight:
      return b >= bits ? 0 : (a & MaskOf(bits)) >> b;
    case StepOperation::kShiftRightSigned:
      return static_cast<uint64_t>(static_cast<int64_t>(SignExtended(a, bits)) >>
                                   std::min<uint64_t>(b, 63));
    case StepOperation::kSignExtend:
      return SignExtended(a, static_cast<unsigned>(b));
    case StepOperation::kBit:
      return a >> wrapped & 1;
    case StepOperation::kSingleBit:
      return uint64_t{1} << (bits == 0 ? 0 : a % bits);
    default:
      return std::nullopt;
  }
}

// The bits that are known of a result, from those of its operands.
void SetKnownBits(const TripValue& a, const TripValue& b, TripValue& value) {
  const bool is_shift = b.kind == ValueKind::kConstant && b.constant < 64;
  switch (value.operation) {
    case StepOperation::kCopy:
      value.ones = a.ones;
      value.zeros = a.zeros;
      break;
    case StepOperation::kAnd:
      value.ones = a.ones & b.ones;
      value.zeros = a.zeros | b.zeros;
      break;
    case StepOperation::kOr:
      value.ones = a.ones | b.ones;
      value.zeros = a.zeros & b.zeros;
      break;
    case StepOperation::kXor:
      value.ones = (a.ones & b.zeros) | (a.zeros & b.ones);
      value.zeros = (a.zeros & b.zeros) | (a.ones & b.ones);
      break;
    case StepOperation::kShiftLeft:
      if (!is_shift) break;
      value.ones = a.ones << b.constant;
      value.zeros = a.zeros << b.constant | MaskOf(static_cast<unsigned>(b.constant));
      break;
    case StepOperation::kShiftRight:
      if (!is_shift) break;
      value.ones = a.ones >> b.constant;
      value.zeros = a.zeros >> b.constant | ~(~uint64_t{0} >> b.constant);
      break;
    case StepOperation::kCondition:
      value.zeros = ~uint64_t{1};
      break;
    case StepOperation::kBit:
      value.zeros = ~uint64_t{1};
      if (b.kind != ValueKind::kConstant || value.bits == 0) break;
      value.ones = a.ones >> b.constant % value.bits & 1;
      value.zeros |= a.zeros >> b.constant % value.bits & 1;
      break;
    default:
      break;
  }
}

}  // namespace

std::optional<bool> ConditionHolds(const TripValues& values, uint8_t condition, ValueId id) {
  const TripValue& flags = values[id];
  if (flags.kind != ValueKind::kComputed || !IsOfFlags(flags.operation)) return std::nullopt;
  const KnownFlags known = FlagsOf(values, flags);
  std::optional<bool> holds;
  switch (condition & 14) {
    case step_condition::kOverflow:
      holds = known.overflow;
      break;
    case step_condition::kCarry:
      holds = known.carry;
      break;
    case step_condition::kZero:
      holds = known.zero;
      break;
    case step_condition::kCarryOrZero:
      holds = Either(known.carry, known.zero);
      break;
    case step_condition::kSign:
      holds = known.sign;
      break;
    case step_condition::kLess:
      holds = Differ(known.sign, known.overflow);
      break;
    case step_condition::kLessOrEqual:
      holds = Either(known.zero, Differ(known.sign, known.overflow));
      break;
    default:
      break;
  }
  if (holds && (condition & 1) != 0) holds = !*holds;
  return holds;
}

size_t TripValues::Hash::operator()(const TripValue& value) const {
  uint64_t hash = value.constant;
  const auto mix = [&](uint64_t more) {
    hash = (hash ^ more) * 0x9e37'79b9'7f4a'7c15;
    hash ^= hash >> 29;
  };
  mix(static_cast<uint64_t>(value.kind) | static_cast<uint64_t>(value.operation) << 8 |
      static_cast<uint64_t>(value.condition) << 16 | static_cast<uint64_t>(value.bits) << 24);
  mix(value.a | static_cast<uint64_t>(value.b) << 32);
  mix(value.c);
  return hash;
}

TripValues::TripValues() { Constant(0); }

ValueId TripValues::Keep(TripValue value) {
  value.zeros |= ~MaskOf(value.bits);
  value.ones &= MaskOf(value.bits);
  const auto [at, added] = numbers_.try_emplace(value, static_cast<ValueId>(values_.size()));
  if (added) values_.push_back(value);
  return at->second;
}

ValueId TripValues::Constant(uint64_t value) {
  return Keep({.bits = static_cast<uint8_t>(std::bit_width(value)),
               .constant = value,
               .ones = value,
               .zeros = ~value});
}

ValueId TripValues::Register(uint8_t number, unsigned bits) {
  return Keep(
      {.kind = ValueKind::kRegister, .bits = static_cast<uint8_t>(bits), .constant = number});
}

ValueId TripValues::Memory(ValueId base, uint64_t offset, unsigned bytes, uint64_t load) {
  return Keep({.kind = ValueKind::kMemory,
               .bits = static_cast<uint8_t>(std::min(bytes * 8, 64U)),
               .a = base,
               .b = bytes,
               .c = static_cast<ValueId>(load),
               .constant = offset});
}

ValueId TripValues::Source(ValueKind kind, uint64_t number) {
  return Keep({.kind = kind, .constant = number});
}

// Empty where it is no value that is known already.
std::optional<ValueId> TripValues::Fold(const TripValue& value) {
  using enum StepOperation;
  const auto a = ConstantOf(value.a);
  const auto b = ConstantOf(value.b);
  if (value.operation == kCondition) {
    const auto holds = ConditionHolds(*this, value.condition, value.a);
    if (holds) return Constant(*holds ? 1 : 0);
    return std::nullopt;
  }
  if (value.operation == kSelect) {
    if (a) return Bits(*a != 0 ? value.b : value.c, value.bits);
    if (value.b == value.c) return Bits(value.b, value.bits);
    return std::nullopt;
  }
  if (value.operation == kBit) return FoldBit(value);
  if (!a || !b) return std::nullopt;
  const auto folded = FoldConstants(value, *a, *b);
  if (folded) return Constant(*folded & MaskOf(value.bits));
  return std::nullopt;
}

// The bit that was just set or cleared, whichever it is.
std::optional<ValueId> TripValues::FoldBit(const TripValue& bit) {
  const auto a = ConstantOf(bit.a);
  const auto b = ConstantOf(bit.b);
  if (a && b) return Constant(*FoldConstants(bit, *a, *b));
  const TripValue& of = values_[bit.a];
  if (of.kind != ValueKind::kComputed) return std::nullopt;
  const auto is_single = [&](ValueId id) {
    const TripValue& single = values_[id];
    return single.kind == ValueKind::kComputed && single.operation == StepOperation::kSingleBit &&
           single.a == bit.b;
  };
  const auto is_hole = [&](ValueId id) {
    const TripValue& hole = values_[id];
    return hole.kind == ValueKind::kComputed && hole.operation == StepOperation::kXor &&
           IsConstant(hole.b) && is_single(hole.a);
  };
  if (of.operation == StepOperation::kOr && (is_single(of.a) || is_single(of.b)))
    return Constant(1);
  if (of.operation == StepOperation::kAnd && (is_hole(of.a) || is_hole(of.b))) return Constant(0);
  return std::nullopt;
}

bool TripValues::IsPartOf(ValueId part, StepOperation operation, ValueId whole) const {
  const TripValue& value = values_[whole];
  return value.kind == ValueKind::kComputed && value.operation == operation &&
         (value.a == part || value.b == part);
}

ValueId TripValues::Compute(StepOperation operation, unsigned bits, ValueId a, ValueId b, ValueId c,
                            uint8_t condition, uint64_t constant) {
  using enum StepOperation;
  const uint64_t mask = MaskOf(bits);
  if (operation == kCondition && (condition & 1) != 0) {
    const ValueId opposite = Compute(kCondition, bits, a, 0, 0, condition & ~1);
    return Compute(kXor, bits, opposite, Constant(1));
  }
  if (operation == kCondition && values_[a].kind == ValueKind::kComputed) {
    const TripValue flags = values_[a];
    if (flags.operation == kSelect) {
      const ValueId then = Compute(kCondition, bits, flags.b, 0, 0, condition);
      const ValueId otherwise = Compute(kCondition, bits, flags.c, 0, 0, condition);
      return Compute(kSelect, bits, flags.a, then, otherwise);
    }
    // Whether two values are the same does not depend on their order.
    const bool swaps = flags.operation == kFlagsOfDifference &&
                       condition == step_condition::kZero && !IsConstant(flags.b) &&
                       (IsConstant(flags.a) || flags.a > flags.b);
    if (swaps) a = Compute(kFlagsOfDifference, flags.condition, flags.b, flags.a);
  }
  if (operation == kFlagsOfResult) {
    operation = kFlagsOfDifference;
    b = 0;
  }
  if (operation == kSubtract && a == b) return Constant(0);
  if (operation == kXor && a == b) return Constant(0);
  if ((operation == kAnd || operation == kOr) && a == b) return Bits(a, bits);
  if (operation == kCopy) return Bits(a, bits);
  // The same operation on the bits of a value was just done.
  if (operation == kAnd || operation == kOr) {
    if (IsPartOf(b, operation, a)) return Bits(a, bits);
    if (IsPartOf(a, operation, b)) return Bits(b, bits);
  }
  if (operation == kAdd && a == b && !IsConstant(a)) {
    operation = kShiftLeft;
    b = Constant(1);
  }
  if (operation == kSubtract && IsConstant(b)) {
    operation = kAdd;
    b = Constant((0 - values_[b].constant) & mask);
  }
  const bool commutes = operation == kAdd || operation == kAnd || operation == kOr ||
                        operation == kXor || operation == kMultiply;
  if (commutes && (IsConstant(a) || (!IsConstant(b) && a > b))) std::swap(a, b);
  if (operation == kMultiply && IsConstant(b) && std::has_single_bit(values_[b].constant)) {
    operation = kShiftLeft;
    b = Constant(static_cast<uint64_t>(std::countr_zero(values_[b].constant)));
  }
  if (operation != kOther && !IsOfFlags(operation) && operation != kCondition &&
      operation != kSelect) {
    a = operation == kShiftRightSigned || operation == kSignExtend || operation == kBit
            ? a
            : Bits(a, bits);
    if (commutes) b = Bits(b, bits);
  }
  if (IsOfFlags(operation)) {
    condition = static_cast<uint8_t>(bits);
    a = Bits(a, bits);
    if (operation == kFlagsOfDifference || operation == kFlagsOfSum) b = Bits(b, bits);
    bits = 64;
  }
  // (x + 1) + 2 is x + 3, and the same holds for the other associative operations.
  if (commutes && operation != kMultiply && IsConstant(b)) {
    const TripValue inner = values_[a];
    if (inner.kind == ValueKind::kComputed && inner.operation == operation && inner.bits == bits &&
        IsConstant(inner.b)) {
      TripValue both{.operation = operation, .bits = static_cast<uint8_t>(bits)};
      b = Constant(*FoldConstants(both, values_[b].constant, values_[inner.b].constant) & mask);
      a = inner.a;
    }
    const uint64_t number = values_[b].constant;
    if (number == 0 && operation != kAnd) return Bits(a, bits);
    if (operation == kAnd && values_[a].kind == ValueKind::kComputed &&
        values_[a].operation == kOr) {
      // The part of a register that is not looked at.
      const TripValue parts = values_[a];
      if ((~values_[parts.b].zeros & number) == 0) return Compute(kAnd, bits, parts.a, b);
      if ((~values_[parts.a].zeros & number) == 0) return Compute(kAnd, bits, parts.b, b);
    }
    if (operation == kAnd && (values_[a].zeros | number) == ~uint64_t{0}) return a;
    if (operation == kOr && (values_[a].ones & number) == number) return a;
  }
  if ((operation == kShiftLeft || operation == kShiftRight) && b == 0) return Bits(a, bits);
  TripValue value{.kind = ValueKind::kComputed,
                  .operation = operation,
                  .condition = condition,
                  .bits = static_cast<uint8_t>(bits),
                  .a = a,
                  .b = b,
                  .c = c,
                  .constant = constant};
  if (operation == kOther || IsOfFlags(operation)) return Keep(value);
  if (const auto known = Fold(value)) return *known;
  SetKnownBits(values_[a], values_[b], value);
  value.zeros |= ~mask;
  // kBit counts its bits for the number of the bit; its value is one bit.
  if ((value.ones | value.zeros) == ~uint64_t{0}) return Constant(value.ones);
  return Keep(value);
}

ValueId TripValues::Bits(ValueId id, unsigned bits, unsigned shift) {
  if (shift != 0) return Bits(Compute(StepOperation::kShiftRight, 64, id, Constant(shift)), bits);
  const TripValue value = values_[id];
  if (value.bits <= bits) return id;
  if (value.kind == ValueKind::kConstant) return Constant(value.constant & MaskOf(bits));
  using enum StepOperation;
  if (value.kind == ValueKind::kComputed) {
    switch (value.operation) {
      case kAdd:
      case kAnd:
      case kOr:
      case kXor:
      case kMultiply:
      case kSubtract:
        return Compute(value.operation, bits, Bits(value.a, bits), Bits(value.b, bits));
      case kShiftLeft:
        if (IsConstant(value.b)) return Compute(kShiftLeft, bits, Bits(value.a, bits), value.b);
        break;
      case kCopy:
        return Bits(value.a, bits);
      case kSignExtend:
        if (IsConstant(value.b) && values_[value.b].constant >= bits) return Bits(value.a, bits);
        break;
      default:
        break;
    }
  }
  TripValue low{.kind = ValueKind::kComputed,
                .operation = kCopy,
                .bits = static_cast<uint8_t>(bits),
                .a = id,
                .ones = value.ones & MaskOf(bits),
                .zeros = value.zeros | ~MaskOf(bits)};
  if ((low.ones | low.zeros) == ~uint64_t{0}) return Constant(low.ones);
  return Keep(low);
}

ValueId TripValues::Insert(ValueId value, ValueId part, unsigned bits, unsigned shift) {
  const uint64_t hole = MaskOf(bits) << shift;
  const ValueId kept = Compute(StepOperation::kAnd, 64, value, Constant(~hole));
  const ValueId moved = Compute(StepOperation::kShiftLeft, 64, Bits(part, bits), Constant(shift));
  return Compute(StepOperation::kOr, 64, kept, moved);
}

TripValues::Place TripValues::PlaceOf(ValueId address) const {
  const TripValue& value = values_[address];
  if (value.kind == ValueKind::kConstant) return {0, value.constant};
  if (value.kind == ValueKind::kComputed && value.operation == StepOperation::kAdd &&
      IsConstant(value.b))
    return {value.a, values_[value.b].constant};
  return {address, 0};
}

ValueId TripValues::ReplaceIn(ValueId id, ValueId from, ValueId to,
                              std::unordered_map<ValueId, ValueId>& done) {
  if (id == from) return to;
  // Values are made after what they are made from.
  if (id < from || values_[id].kind == ValueKind::kConstant ||
      values_[id].kind == ValueKind::kRegister)
    return id;
  if (const auto known = done.find(id); known != done.end()) return known->second;
  const TripValue value = values_[id];
  ValueId result = id;
  if (value.kind == ValueKind::kMemory) {
    result = Memory(ReplaceIn(value.a, from, to, done), value.constant, value.b, value.c);
  } else if (value.kind == ValueKind::kComputed) {
    const ValueId a = ReplaceIn(value.a, from, to, done);
    const ValueId b = ReplaceIn(value.b, from, to, done);
    const ValueId c = ReplaceIn(value.c, from, to, done);
    const unsigned bits = IsOfFlags(value.operation) ? value.condition : value.bits;
    result = Compute(value.operation, bits, a, b, c, value.condition, value.constant);
  }
  done.emplace(id, result);
  return result;
}

ValueId TripValues::Replace(ValueId value, ValueId from, ValueId to) {
  std::unordered_map<ValueId, ValueId> done;
  return ReplaceIn(value, from, to, done);
}

}  // namespace flowback
