// SPDX-License-Identifier: MIT
// Each row of the table of operations, in both directions: with a part of the bits known, what is
// proven of operands and result is what they are; with the operands known, the result is; and what
// can be inverted is.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "replay/values/value_operations.h"

namespace flowback::values {
namespace {

struct Row {
  const char* name;
  StepOperation operation;
  // The result, computed plainly.
  std::function<uint64_t(uint64_t a, uint64_t b, uint64_t c, unsigned bits)> judge;
  bool inverts_a = false;  // a is proven by the result and b
  bool inverts_b = false;
  // Operands that the operation is made for.
  std::function<void(uint64_t& a, uint64_t& b, uint64_t& c, unsigned bits)> choose = nullptr;
};

int64_t Signed(uint64_t value, unsigned bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

uint64_t FlagsOf(uint64_t a, uint64_t b, unsigned bits, bool subtract) {
  const auto wide = [&](auto x, auto y) { return subtract ? x - y : x + y; };
  const uint64_t result = wide(a, b) & LowBits(bits);
  const __int128 exact =
      wide(static_cast<__int128>(Signed(a, bits)), static_cast<__int128>(Signed(b, bits)));
  const __int128 plain = wide(static_cast<__int128>(a), static_cast<__int128>(b));
  uint64_t flags = 0;
  if (result == 0) flags |= flag::kZero;
  if (Signed(result, bits) < 0) flags |= flag::kSign;
  if (exact != Signed(result, bits)) flags |= flag::kOverflow;
  if (plain < 0 || plain > static_cast<__int128>(LowBits(bits))) flags |= flag::kCarry;
  if (__builtin_popcountll(result & 0xff) % 2 == 0) flags |= flag::kParity;
  return flags;
}

const std::vector<Row>& Rows() {
  using enum StepOperation;
  const auto small_b = [](uint64_t&, uint64_t& b, uint64_t&, unsigned bits) { b %= bits; };
  static const std::vector<Row> rows = {
      {"copy", kCopy, [](auto a, auto, auto, auto) { return a; }, true},
      {"add", kAdd, [](auto a, auto b, auto, auto) { return a + b; }, true, true},
      {"subtract", kSubtract, [](auto a, auto b, auto, auto) { return a - b; }, true, true},
      {"and", kAnd, [](auto a, auto b, auto, auto) { return a & b; }},
      {"or", kOr, [](auto a, auto b, auto, auto) { return a | b; }},
      {"xor", kXor, [](auto a, auto b, auto, auto) { return a ^ b; }, true, true},
      {"shift left", kShiftLeft, [](auto a, auto b, auto, auto) { return a << b; }, false, false,
       small_b},
      {"shift right", kShiftRight, [](auto a, auto b, auto, auto) { return a >> b; }, false, false,
       small_b},
      {"shift right signed", kShiftRightSigned,
       [](auto a, auto b, auto, auto bits) { return static_cast<uint64_t>(Signed(a, bits) >> b); },
       false, false, small_b},
      {"rotate left", kRotateLeft,
       [](auto a, auto b, auto, auto bits) {
         for (; b != 0; --b) a = (a << 1 | a >> (bits - 1)) & LowBits(bits);
         return a;
       },
       true, false, small_b},
      {"multiply", kMultiply, [](auto a, auto b, auto, auto) { return a * b; }},
      {"multiply by odd", kMultiply, [](auto a, auto b, auto, auto) { return a * b; }, true, false,
       [](uint64_t&, uint64_t& b, uint64_t&, unsigned) { b |= 1; }},
      {"sign extend", kSignExtend,
       [](auto a, auto b, auto, auto) {
         return static_cast<uint64_t>(Signed(a, static_cast<unsigned>(b)));
       },
       true, false,
       [](uint64_t& a, uint64_t& b, uint64_t&, unsigned bits) {
         b = bits / 2;
         a &= LowBits(bits / 2);
       }},
      {"select", kSelect, [](auto a, auto b, auto c, auto) { return (a & 1) != 0 ? b : c; }, false,
       false, [](uint64_t& a, uint64_t&, uint64_t&, unsigned) { a &= 1; }},
      {"bit", kBit, [](auto a, auto b, auto, auto bits) { return a >> b % bits & 1; }},
      {"single bit", kSingleBit,
       [](auto a, auto, auto, auto bits) { return uint64_t{1} << a % bits; }},
      {"reverse bits", kReverseBits,
       [](auto a, auto, auto, auto bits) {
         uint64_t reversed = 0;
         for (unsigned i = 0; i < bits; ++i, a >>= 1) reversed = reversed << 1 | (a & 1);
         return reversed;
       },
       true},
      {"leading zeros", kLeadingZeros,
       [](auto a, auto, auto, auto bits) {
         uint64_t zeros = 0;
         while (zeros < bits && (a >> (bits - 1 - zeros) & 1) == 0) ++zeros;
         return zeros;
       }},
      {"multiply high", kMultiplyHigh,
       [](auto a, auto b, auto, auto) {
         return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
       }},
      {"flags of a difference", kFlagsOfDifference,
       [](auto a, auto b, auto, auto bits) { return FlagsOf(a, b, bits, true); }},
      {"flags of a sum", kFlagsOfSum,
       [](auto a, auto b, auto, auto bits) { return FlagsOf(a, b, bits, false); }},
      {"flags of a result", kFlagsOfResult,
       [](auto a, auto, auto, auto bits) { return FlagsOf(a, 0, bits, true); }},
  };
  return rows;
}

class OperationsTest : public ::testing::Test {
 protected:
  KnownBits Part(uint64_t value, int how) {
    const uint64_t known = how == 0 ? ~uint64_t{0} : how == 1 ? 0 : random_() | random_();
    return {.known = known, .value = value & known};
  }
  uint64_t Value(unsigned bits) {
    const uint64_t value = random_() % 3 == 0 ? random_() % 5 - 2 : random_();
    return value & LowBits(bits);
  }
  static bool Agrees(const KnownBits& bits, uint64_t value, uint64_t mask) {
    return ((bits.value ^ value) & bits.known & mask) == 0;
  }
  static uint64_t MaskOf(const Row& row, unsigned bits) {
    constexpr uint64_t kFlags =
        flag::kCarry | flag::kParity | flag::kZero | flag::kSign | flag::kOverflow;
    return IsOfFlags(row.operation) ? kFlags : LowBits(bits);
  }

  void Check(const Row& row, unsigned bits) {
    uint64_t a = Value(bits);
    uint64_t b = Value(bits);
    uint64_t c = Value(bits);
    if (row.choose) row.choose(a, b, c, bits);
    const uint64_t mask = MaskOf(row, bits);
    const uint64_t result = row.judge(a, b, c, bits) & mask;
    const auto how = [&] { return static_cast<int>(random_() % 3); };
    OperationValues part{.a = Part(a, how()),
                         .b = Part(b, how()),
                         .c = Part(c, how()),
                         .result = Part(result, how()).Masked(mask),
                         .bits = bits};
    Refine(row.operation, part);
    Refine(row.operation, part);
    ASSERT_FALSE(part.conflict) << a << ' ' << b << ' ' << bits;
    ASSERT_TRUE(Agrees(part.a, a, LowBits(bits))) << a << ' ' << b << ' ' << bits;
    ASSERT_TRUE(Agrees(part.b, b, LowBits(bits))) << a << ' ' << b << ' ' << bits;
    ASSERT_TRUE(Agrees(part.c, c, LowBits(bits))) << a << ' ' << b << ' ' << bits;
    ASSERT_TRUE(Agrees(part.result, result, mask)) << a << ' ' << b << ' ' << bits;
    OperationValues whole{.a = Proven(a), .b = Proven(b), .c = Proven(c), .bits = bits};
    Refine(row.operation, whole);
    ASSERT_EQ(whole.result.known & mask, mask) << a << ' ' << b << ' ' << bits;
    if (row.inverts_a) {
      OperationValues back{.b = Proven(b), .result = Proven(result), .bits = bits};
      Refine(row.operation, back);
      const unsigned of_a = row.operation == StepOperation::kSignExtend ? bits / 2 : bits;
      ASSERT_EQ(back.a.known & LowBits(of_a), LowBits(of_a)) << a << ' ' << b << ' ' << bits;
    }
    if (row.inverts_b) {
      OperationValues back{.a = Proven(a), .result = Proven(result), .bits = bits};
      Refine(row.operation, back);
      ASSERT_EQ(back.b.known & LowBits(bits), LowBits(bits)) << a << ' ' << b << ' ' << bits;
    }
  }

  std::mt19937_64 random_{20261128};
};

TEST_F(OperationsTest, ProveWhatIsAndNothingElse) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    for (const unsigned bits : {8U, 16U, 32U, 64U})
      for (int i = 0; i < 2000; ++i) ASSERT_NO_FATAL_FAILURE(Check(row, bits));
  }
}

// By every condition, the flags of all comparisons of small numbers.
TEST_F(OperationsTest, OutcomesOfConditionsProveFlags) {
  const auto holds = [](unsigned condition, int8_t a, int8_t b) {
    const auto ua = static_cast<uint8_t>(a);
    const auto ub = static_cast<uint8_t>(b);
    const auto difference = static_cast<int8_t>(ua - ub);
    const bool all[8] = {difference != a - b,
                         ua < ub,
                         a == b,
                         ua <= ub,
                         difference < 0,
                         __builtin_popcount(static_cast<uint8_t>(difference)) % 2 == 0,
                         a < b,
                         a <= b};
    return all[condition >> 1] != ((condition & 1) != 0);
  };
  for (unsigned i = 0; i < 0x10000; i += 7) {
    const auto a = static_cast<int8_t>(i);
    const auto b = static_cast<int8_t>(i >> 8);
    const uint64_t flags = FlagsOf(static_cast<uint8_t>(a), static_cast<uint8_t>(b), 8, true);
    for (uint8_t condition = 0; condition < 16; ++condition) {
      const uint64_t outcome = holds(condition, a, b) ? 1 : 0;
      OperationValues forward{.a = Proven(flags), .bits = 8, .condition = condition};
      Refine(StepOperation::kCondition, forward);
      ASSERT_TRUE(forward.result.all());
      ASSERT_EQ(forward.result.value, outcome) << +condition << ' ' << +a << ' ' << +b;
      const uint64_t known = random_();
      OperationValues back{.a = {.known = known, .value = flags & known},
                           .result = Proven(outcome),
                           .bits = 8,
                           .condition = condition};
      Refine(StepOperation::kCondition, back);
      ASSERT_FALSE(back.conflict) << +condition << ' ' << +a << ' ' << +b;
      ASSERT_TRUE(Agrees(back.a, flags, ~uint64_t{0})) << +condition << ' ' << +a << ' ' << +b;
    }
  }
}

TEST_F(OperationsTest, AnEqualComparisonMakesItsOperandsEqual) {
  OperationValues values{.b = Proven(42), .result = {.known = flag::kZero, .value = flag::kZero}};
  Refine(StepOperation::kFlagsOfDifference, values);
  EXPECT_EQ(values.a, Proven(42));
}

TEST_F(OperationsTest, BytesAreSwapped) {
  OperationValues values{.result = Proven(0x11223344).ZeroExtended(32), .bits = 32};
  Refine(StepOperation::kByteSwap, values);
  EXPECT_EQ(values.a.value, 0x44332211U);
  values = {.a = Proven(0x1122334455667788)};
  Refine(StepOperation::kByteSwap, values);
  EXPECT_EQ(values.result, Proven(0x8877665544332211));
}

TEST_F(OperationsTest, ProvenBitsThatDifferAreAConflict) {
  OperationValues values{.a = Proven(1), .b = Proven(2), .result = Proven(4)};
  Refine(StepOperation::kAdd, values);
  EXPECT_TRUE(values.conflict);
}

}  // namespace
}  // namespace flowback::values
