// SPDX-License-Identifier: MIT
#include "capture/record/generate/branch_outcome.h"

#include <gtest/gtest.h>

#include "decode/instruction/classify.h"

namespace flowback::record {
namespace {

constexpr uint64_t kIp = 0x401000;

struct Decoded {
  std::vector<uint8_t> code;
  Instruction instruction;
};

Decoded Decode(std::vector<uint8_t> code) {
  Decoded decoded{std::move(code), {}};
  EXPECT_TRUE(Classify(decoded.code, CodeMode::kX86_64, decoded.instruction));
  return decoded;
}

Outcome InterpretAt(const Decoded& decoded, uint64_t next) {
  return Interpret(decoded.instruction, decoded.code, kIp, next);
}

TEST(Interpret, NoTransfer) {
  const auto nop = Decode({0x90});
  EXPECT_EQ(InterpretAt(nop, kIp + 1), Outcome::kSequential);
  EXPECT_EQ(InterpretAt(nop, kIp), Outcome::kTrapped);
  EXPECT_EQ(InterpretAt(nop, kIp + 2), Outcome::kTrapped);
}

TEST(Interpret, RepStrings) {
  const auto rep_movsb = Decode({0xf3, 0xa4});
  EXPECT_EQ(InterpretAt(rep_movsb, kIp), Outcome::kRepeats);
  EXPECT_EQ(InterpretAt(rep_movsb, kIp + 2), Outcome::kSequential);
}

TEST(Interpret, ConditionalBranches) {
  const auto je = Decode({0x74, 0x10});
  EXPECT_EQ(InterpretAt(je, kIp + 2), Outcome::kSequential);
  EXPECT_EQ(InterpretAt(je, kIp + 0x12), Outcome::kTaken);
  EXPECT_EQ(InterpretAt(je, kIp + 0x13), Outcome::kTrapped);
  EXPECT_EQ(InterpretAt(Decode({0x74, 0x00}), kIp + 2), Outcome::kEitherWay);
  const auto loop_to_itself = Decode({0xe2, 0xfe});
  EXPECT_EQ(InterpretAt(loop_to_itself, kIp), Outcome::kTaken);
}

TEST(Interpret, DirectTransfersMustReachTheirTarget) {
  for (const uint8_t opcode : {0xe8, 0xe9}) {
    const auto branch = Decode({opcode, 0x10, 0, 0, 0});
    EXPECT_EQ(InterpretAt(branch, kIp + 0x15), Outcome::kTaken);
    EXPECT_EQ(InterpretAt(branch, kIp + 5), Outcome::kTrapped);
  }
}

TEST(Interpret, IndirectTransfersGoAnywhere) {
  for (const auto& code : {std::vector<uint8_t>{0xff, 0xe0}, {0xff, 0xd0}, {0xc3}, {0xc2, 8, 0}})
    EXPECT_EQ(InterpretAt(Decode(code), 0x1234), Outcome::kTaken);
}

TEST(Interpret, KernelEntriesAndTraps) {
  EXPECT_EQ(InterpretAt(Decode({0x0f, 0x05}), kIp + 2), Outcome::kEntersKernel);
  EXPECT_EQ(InterpretAt(Decode({0x0f, 0x05}), 0x5678), Outcome::kEntersKernel);
  EXPECT_EQ(InterpretAt(Decode({0xcc}), kIp + 1), Outcome::kTrapped);
  EXPECT_EQ(InterpretAt(Decode({0xf1}), kIp + 1), Outcome::kTrapped);
  EXPECT_EQ(InterpretAt(Decode({0xcd, 0x80}), kIp + 2), Outcome::kTrapped);
  // Its operand looks like SYSCALL's second byte.
  EXPECT_EQ(InterpretAt(Decode({0xcd, 0x05}), kIp + 2), Outcome::kTrapped);
  EXPECT_EQ(InterpretAt(Decode({0x48, 0xcf}), 0x5678), Outcome::kTaken);  // IRETQ
}

TEST(Interpret, TransactionsAreTold) {
  const auto xbegin = Decode({0xc7, 0xf8, 0x10, 0, 0, 0});
  EXPECT_TRUE(IsTransactionBegin(xbegin.instruction, xbegin.code));
  const auto mov = Decode({0xc7, 0xc0, 0x10, 0, 0, 0});
  EXPECT_FALSE(IsTransactionBegin(mov.instruction, mov.code));
}

TEST(PushFlags, WithAnyPrefix) {
  EXPECT_TRUE(IsPushFlags(std::vector<uint8_t>{0x9c}));
  EXPECT_TRUE(IsPushFlags(std::vector<uint8_t>{0x66, 0x9c}));
  EXPECT_TRUE(IsPushFlags(std::vector<uint8_t>{0x48, 0x9c}));
  EXPECT_FALSE(IsPushFlags(std::vector<uint8_t>{0x9d}));
  EXPECT_FALSE(IsPushFlags(std::vector<uint8_t>{0x48}));
}

// The sixteen conditions, from the definition of each: which of CF, PF, ZF, SF, OF make it hold.
TEST(ConditionHolds, AllConditionCodes) {
  for (unsigned bits = 0; bits < 32; ++bits) {
    const bool c = bits & 1, p = bits & 2, z = bits & 4, s = bits & 8, o = bits & 16;
    const uint64_t rflags = 2u | c << 0 | p << 2 | z << 6 | s << 7 | o << 11;
    const bool expected[16] = {o, !o, c, !c, z,      !z,     c || z,      !c && !z,
                               s, !s, p, !p, s != o, s == o, z || s != o, !z && s == o};
    for (uint8_t condition = 0; condition < 16; ++condition) {
      const std::vector<uint8_t> small = {static_cast<uint8_t>(0x70 | condition), 0};
      const std::vector<uint8_t> near = {0x0f, static_cast<uint8_t>(0x80 | condition), 0, 0, 0, 0};
      EXPECT_EQ(ConditionHolds(small, rflags, 0), expected[condition]) << +condition << " " << bits;
      EXPECT_EQ(ConditionHolds(near, rflags, 0), expected[condition]) << +condition << " " << bits;
    }
  }
}

TEST(ConditionHolds, Counters) {
  constexpr uint64_t kZero = 0x40;
  EXPECT_TRUE(ConditionHolds(std::vector<uint8_t>{0xe0, 0}, 0, 1));
  EXPECT_FALSE(ConditionHolds(std::vector<uint8_t>{0xe0, 0}, kZero, 1));
  EXPECT_FALSE(ConditionHolds(std::vector<uint8_t>{0xe0, 0}, 0, 0));
  EXPECT_TRUE(ConditionHolds(std::vector<uint8_t>{0xe1, 0}, kZero, 1));
  EXPECT_FALSE(ConditionHolds(std::vector<uint8_t>{0xe1, 0}, 0, 1));
  EXPECT_TRUE(ConditionHolds(std::vector<uint8_t>{0xe2, 0}, kZero, 1));
  EXPECT_FALSE(ConditionHolds(std::vector<uint8_t>{0xe2, 0}, 0, 0));
  EXPECT_TRUE(ConditionHolds(std::vector<uint8_t>{0xe3, 0}, 0, 0));
  EXPECT_FALSE(ConditionHolds(std::vector<uint8_t>{0xe3, 0}, 0, 5));
}

}  // namespace
}  // namespace flowback::record
