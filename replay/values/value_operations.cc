// SPDX-License-Identifier: MIT
#include "replay/values/value_operations.h"

#include <bit>
#include <optional>

namespace flowback::values {
namespace {

using Values = OperationValues;

void Add(Values& values, KnownBits& bits, const KnownBits& more) {
  if (!Learn(bits, more)) values.conflict = true;
}

// Learns only the result's own bits, since the others are zero, and only those operand bits that
// the operation uses.
void AddResult(Values& values, const KnownBits& more) {
  Add(values, values.result, more.ZeroExtended(values.bits));
}
void AddOperand(Values& values, KnownBits& operand, const KnownBits& more) {
  Add(values, operand, more.Masked(LowBits(values.bits)));
}

bool IsKnown(const KnownBits& bits, unsigned count) {
  return (bits.known & LowBits(count)) == LowBits(count);
}

void RefineCopy(Values& values) {
  AddResult(values, values.a);
  AddOperand(values, values.a, values.result);
}

void RefineSum(Values& values) {
  AddResult(values, Sum(values.a, values.b));
  AddOperand(values, values.a, Difference(values.result, values.b));
  AddOperand(values, values.b, Difference(values.result, values.a));
}

void RefineDifference(Values& values) {
  if (values.same) return AddResult(values, Proven(0));
  AddResult(values, Difference(values.a, values.b));
  AddOperand(values, values.a, Sum(values.result, values.b));
  AddOperand(values, values.b, Difference(values.a, values.result));
}

KnownBits And(const KnownBits& a, const KnownBits& b) {
  const uint64_t ones = a.ones() & b.ones();
  return {.known = ones | a.zeros() | b.zeros(), .value = ones};
}

// Bits of an operand of AND: ones where the result is one; as the result where the other is one.
KnownBits OperandOfAnd(const KnownBits& result, const KnownBits& other) {
  return {.known = result.ones() | (result.zeros() & other.ones()), .value = result.ones()};
}

void RefineAnd(Values& values) {
  AddResult(values, And(values.a, values.b));
  if (values.same) {
    AddResult(values, values.a);
    return AddOperand(values, values.a, values.result);
  }
  AddOperand(values, values.a, OperandOfAnd(values.result, values.b));
  AddOperand(values, values.b, OperandOfAnd(values.result, values.a));
}

void RefineOr(Values& values) {
  AddResult(values, Inverted(And(Inverted(values.a), Inverted(values.b))));
  if (values.same) {
    AddResult(values, values.a);
    return AddOperand(values, values.a, values.result);
  }
  const KnownBits result = Inverted(values.result);
  AddOperand(values, values.a, Inverted(OperandOfAnd(result, Inverted(values.b))));
  AddOperand(values, values.b, Inverted(OperandOfAnd(result, Inverted(values.a))));
}

KnownBits Xor(const KnownBits& a, const KnownBits& b) {
  const uint64_t known = a.known & b.known;
  return {.known = known, .value = (a.value ^ b.value) & known};
}

void RefineXor(Values& values) {
  if (values.same) return AddResult(values, Proven(0));
  AddResult(values, Xor(values.a, values.b));
  AddOperand(values, values.a, Xor(values.result, values.b));
  AddOperand(values, values.b, Xor(values.result, values.a));
}

// The amount of a shift; empty: it is not proven, or no bit of the operand is left.
std::optional<unsigned> AmountOf(const Values& values) {
  if (!values.b.all() || values.b.value >= values.bits) return std::nullopt;
  return static_cast<unsigned>(values.b.value);
}

void RefineShiftLeft(Values& values) {
  const auto amount = AmountOf(values);
  if (!amount) return;
  const KnownBits& a = values.a;
  AddResult(values, {.known = a.known << *amount | LowBits(*amount), .value = a.value << *amount});
  const uint64_t kept = LowBits(values.bits - *amount);
  AddOperand(
      values, values.a,
      KnownBits{.known = values.result.known >> *amount, .value = values.result.value >> *amount}
          .Masked(kept));
}

void RefineShiftRight(Values& values) {
  const auto amount = AmountOf(values);
  if (!amount) return;
  const KnownBits a = values.a.ZeroExtended(values.bits);
  AddResult(values, {.known = a.known >> *amount | ~(~uint64_t{0} >> *amount),
                     .value = a.value >> *amount});
  const KnownBits& result = values.result;
  AddOperand(values, values.a,
             {.known = result.known << *amount, .value = result.value << *amount});
}

KnownBits SignExtension(const KnownBits& a, unsigned bits) {
  return {.known = SignExtended(a.known, bits), .value = SignExtended(a.value, bits)};
}

void RefineShiftRightSigned(Values& values) {
  const auto amount = AmountOf(values);
  if (!amount) return;
  const KnownBits a = SignExtension(values.a, values.bits);
  const auto shifted = [&](uint64_t word) {
    return static_cast<uint64_t>(static_cast<int64_t>(word) >> *amount);
  };
  AddResult(values, {.known = shifted(a.known), .value = shifted(a.value)});
  const KnownBits& result = values.result;
  AddOperand(values, values.a,
             {.known = result.known << *amount, .value = result.value << *amount});
}

KnownBits Rotated(const KnownBits& a, unsigned amount, unsigned bits) {
  const auto rotate = [&](uint64_t word) {
    word &= LowBits(bits);
    return amount == 0 ? word : (word << amount | word >> (bits - amount)) & LowBits(bits);
  };
  return {.known = rotate(a.known), .value = rotate(a.value)};
}

void RefineRotateLeft(Values& values) {
  if (!values.b.all()) return;
  const auto amount = static_cast<unsigned>(values.b.value % values.bits);
  AddResult(values, Rotated(values.a, amount, values.bits));
  AddOperand(values, values.a,
             Rotated(values.result, (values.bits - amount) % values.bits, values.bits));
}

KnownBits Swapped(const KnownBits& a, unsigned bits) {
  const auto swap = [&](uint64_t word) { return __builtin_bswap64(word) >> (64 - bits); };
  return {.known = swap(a.known), .value = swap(a.value)};
}

void RefineByteSwap(Values& values) {
  AddResult(values, Swapped(values.a, values.bits));
  AddOperand(values, values.a, Swapped(values.result, values.bits));
}

// The inverse of an odd number modulo 2^64, by Newton's iteration: each doubles the right bits.
uint64_t InverseOf(uint64_t odd) {
  uint64_t inverse = odd;
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}

// A product's low bits depend on the operands' low bits alone.
unsigned LowKnown(const KnownBits& bits) {
  return static_cast<unsigned>(std::countr_one(bits.known));
}

void RefineFactor(Values& values, KnownBits& a, const KnownBits& b) {
  const unsigned low = std::min(LowKnown(b), LowKnown(values.result));
  if (low == 0 || (b.value & 1) == 0) return;
  const uint64_t factor = values.result.value * InverseOf(b.value);
  AddOperand(values, a, {.known = LowBits(low), .value = factor & LowBits(low)});
}

void RefineProduct(Values& values) {
  const bool is_zero =
      (values.a.all() && values.a.value == 0) || (values.b.all() && values.b.value == 0);
  if (is_zero) return AddResult(values, Proven(0));
  const unsigned low = std::min(LowKnown(values.a), LowKnown(values.b));
  const uint64_t product = values.a.value * values.b.value;
  AddResult(values, {.known = LowBits(low), .value = product & LowBits(low)});
  if (values.same) return;
  RefineFactor(values, values.a, values.b);
  RefineFactor(values, values.b, values.a);
}

void RefineSignExtension(Values& values) {
  if (!values.b.all() || values.b.value == 0 || values.b.value > 64) return;
  const auto from = static_cast<unsigned>(values.b.value);
  AddResult(values, SignExtension(values.a, from));
  const uint64_t copies = LowBits(values.bits) & ~LowBits(from - 1);
  KnownBits source = values.result.Masked(LowBits(from));
  // All bits from the sign on are equal: any of them shows it.
  if ((values.result.known & copies) != 0) {
    const uint64_t sign = uint64_t{1} << (from - 1);
    source.known |= sign;
    if ((values.result.value & copies) != 0) source.value |= sign;
  }
  AddOperand(values, values.a, source);
}

void RefineSelection(Values& values) {
  const uint64_t mask = LowBits(values.bits);
  const auto differs = [&](const KnownBits& one) {
    return ((one.value ^ values.result.value) & one.known & values.result.known & mask) != 0;
  };
  if ((values.a.known & 1) == 0) {
    if (differs(values.b)) Add(values, values.a, {.known = 1, .value = 0});
    if (differs(values.c)) Add(values, values.a, {.known = 1, .value = 1});
  }
  if ((values.a.known & 1) == 0) {
    const uint64_t known = values.b.known & values.c.known & ~(values.b.value ^ values.c.value);
    return AddResult(values, values.b.Masked(known));
  }
  KnownBits& chosen = (values.a.value & 1) != 0 ? values.b : values.c;
  AddResult(values, chosen);
  AddOperand(values, chosen, values.result);
}

struct ConditionFlags {
  uint64_t any;       // the condition holds where any of these is set
  bool sign_differs;  // or where sign and overflow differ
};

// By the upper three bits of x86's numbers; the lowest one inverts.
constexpr ConditionFlags kConditions[8] = {
    {flag::kOverflow, false},
    {flag::kCarry, false},
    {flag::kZero, false},
    {flag::kCarry | flag::kZero, false},
    {flag::kSign, false},
    {flag::kParity, false},
    {0, true},
    {flag::kZero, true},
};

std::optional<bool> SignDiffers(const KnownBits& flags) {
  constexpr uint64_t both = flag::kSign | flag::kOverflow;
  if ((flags.known & both) != both) return std::nullopt;
  return ((flags.value & flag::kSign) != 0) != ((flags.value & flag::kOverflow) != 0);
}

std::optional<bool> Holds(const ConditionFlags& condition, const KnownBits& flags) {
  const auto differs = condition.sign_differs ? SignDiffers(flags) : std::optional(false);
  if ((flags.ones() & condition.any) != 0 || (differs && *differs)) return true;
  if ((flags.zeros() & condition.any) == condition.any && differs) return false;
  return std::nullopt;
}

// If the condition does not hold, none of its flags is set; if it holds and all but one part of it
// are known not to, that one does.
void RefineFlagsOfOutcome(Values& values, const ConditionFlags& condition, bool holds) {
  if (!holds) Add(values, values.a, {.known = condition.any, .value = 0});
  const uint64_t open = condition.any & ~values.a.zeros();
  if (holds && !condition.sign_differs && std::has_single_bit(open))
    Add(values, values.a, {.known = open, .value = open});
  if (!condition.sign_differs || (holds && open != 0)) return;
  // Sign and overflow differ, or they do not.
  const auto other = [&](uint64_t from, uint64_t to) {
    if ((values.a.known & from) == 0) return;
    const bool set = ((values.a.value & from) != 0) != holds;
    Add(values, values.a, {.known = to, .value = set ? to : 0});
  };
  other(flag::kSign, flag::kOverflow);
  other(flag::kOverflow, flag::kSign);
}

void RefineCondition(Values& values) {
  if (values.condition >= 16) return;
  const ConditionFlags& condition = kConditions[values.condition >> 1];
  const bool inverts = (values.condition & 1) != 0;
  if (const auto holds = Holds(condition, values.a))
    AddResult(values, Proven(*holds != inverts ? 1 : 0));
  else
    AddResult(values, {.known = ~uint64_t{1}, .value = 0});
  if ((values.result.known & 1) != 0)
    RefineFlagsOfOutcome(values, condition, ((values.result.value & 1) != 0) != inverts);
}

void RefineBit(Values& values) {
  AddResult(values, {.known = ~uint64_t{1}, .value = 0});
  if (!values.b.all()) return;
  const uint64_t number = values.b.value % values.bits;
  AddResult(values, KnownBits{.known = values.a.known >> number | ~uint64_t{1},
                              .value = values.a.value >> number & 1});
  AddOperand(
      values, values.a,
      {.known = (values.result.known & 1) << number, .value = (values.result.value & 1) << number});
}

void RefineSingleBit(Values& values) {
  if (values.a.all()) AddResult(values, Proven(uint64_t{1} << values.a.value % values.bits));
}

uint64_t ReversedBits(uint64_t word, unsigned bits) {
  uint64_t reversed = 0;
  for (unsigned i = 0; i < bits; ++i) reversed |= (word >> i & 1) << (bits - 1 - i);
  return reversed;
}

void RefineReversal(Values& values) {
  const auto reverse = [&](const KnownBits& a) {
    return KnownBits{.known = ReversedBits(a.known, values.bits),
                     .value = ReversedBits(a.value, values.bits)};
  };
  AddResult(values, reverse(values.a));
  AddOperand(values, values.a, reverse(values.result));
}

// The bits above the highest one that may be set are zero; that one decides if it is set for sure.
void RefineLeadingZeros(Values& values) {
  const uint64_t mask = LowBits(values.bits);
  const uint64_t possible = mask & ~values.a.zeros();
  const auto zeros = static_cast<uint64_t>(std::countl_zero(possible)) - (64 - values.bits);
  if (possible == 0 || (values.a.ones() & std::bit_floor(possible)) != 0)
    AddResult(values, Proven(zeros));
}

void RefineHighProduct(Values& values) {
  if (!values.a.all() || !values.b.all()) return;
  __extension__ using Wide = unsigned __int128;
  AddResult(values, Proven(static_cast<uint64_t>(Wide{values.a.value} * values.b.value >> 64)));
}

// Adds a flag to the result.
void AddFlag(Values& values, uint64_t which, bool set) {
  Add(values, values.result, {.known = which, .value = set ? which : 0});
}

void AddZeroAndSign(Values& values, const KnownBits& outcome) {
  const KnownBits bits = outcome.Masked(LowBits(values.bits));
  if (bits.ones() != 0) AddFlag(values, flag::kZero, false);
  if (IsKnown(outcome, values.bits) && bits.ones() == 0) AddFlag(values, flag::kZero, true);
  const uint64_t sign = uint64_t{1} << (values.bits - 1);
  if ((bits.known & sign) != 0) AddFlag(values, flag::kSign, (bits.value & sign) != 0);
}

void AddParity(Values& values, const KnownBits& outcome) {
  if (IsKnown(outcome, 8))
    AddFlag(values, flag::kParity, std::popcount(outcome.value & 0xff) % 2 == 0);
}

bool IsZeroKnown(const Values& values) { return (values.result.ones() & flag::kZero) != 0; }

void AddSumFlags(Values& values, bool subtract) {
  const KnownBits outcome = subtract ? Difference(values.a, values.b) : Sum(values.a, values.b);
  AddZeroAndSign(values, values.same && subtract ? Proven(0) : outcome);
  AddParity(values, outcome);
  if (!IsKnown(values.a, values.bits) || !IsKnown(values.b, values.bits)) return;
  const uint64_t mask = LowBits(values.bits);
  const uint64_t a = values.a.value & mask;
  const uint64_t b = values.b.value & mask;
  const uint64_t sum = outcome.value & mask;
  AddFlag(values, flag::kCarry, subtract ? a < b : sum < a);
  const uint64_t overflow = subtract ? (a ^ b) & (a ^ sum) : (a ^ sum) & (b ^ sum);
  AddFlag(values, flag::kOverflow, (overflow >> (values.bits - 1) & 1) != 0);
}

void RefineFlagsOfDifference(Values& values) {
  AddSumFlags(values, true);
  if (!IsZeroKnown(values)) return;
  AddOperand(values, values.a, values.b);
  AddOperand(values, values.b, values.a);
}

void RefineFlagsOfSum(Values& values) {
  AddSumFlags(values, false);
  if (!IsZeroKnown(values)) return;
  AddOperand(values, values.a, Difference(Proven(0), values.b));
  AddOperand(values, values.b, Difference(Proven(0), values.a));
}

void RefineFlagsOfZero(Values& values) {
  const KnownBits bits = values.a.Masked(LowBits(values.bits));
  if (bits.ones() != 0) AddFlag(values, flag::kZero, false);
  if (IsKnown(values.a, values.bits) && bits.ones() == 0) AddFlag(values, flag::kZero, true);
  if (IsZeroKnown(values)) AddOperand(values, values.a, Proven(0));
}

void RefineFlagsOfZeroSign(Values& values) {
  AddZeroAndSign(values, values.a);
  if (IsZeroKnown(values)) AddOperand(values, values.a, Proven(0));
  if ((values.result.known & flag::kSign) == 0) return;
  const uint64_t sign = uint64_t{1} << (values.bits - 1);
  const bool set = (values.result.value & flag::kSign) != 0;
  AddOperand(values, values.a, {.known = sign, .value = set ? sign : 0});
}

void RefineFlagsOfResult(Values& values) {
  AddFlag(values, flag::kCarry, false);
  AddFlag(values, flag::kOverflow, false);
  AddParity(values, values.a);
  RefineFlagsOfZeroSign(values);
}

void RefineFlagsOfCarry(Values& values) {
  if ((values.a.known & 1) != 0) AddFlag(values, flag::kCarry, (values.a.value & 1) != 0);
  if ((values.result.known & flag::kCarry) != 0)
    Add(values, values.a, {.known = 1, .value = values.result.value & 1});
}

}  // namespace

void Refine(StepOperation operation, OperationValues& values) {
  if (values.bits == 0 || values.bits > 64) return;
  switch (operation) {
#define FLOWBACK_VALUE_OPERATION(operation, function) \
  case StepOperation::operation:                      \
    return function(values);
#include "replay/values/value_operations.def"
    default:
      return;
  }
}

}  // namespace flowback::values
