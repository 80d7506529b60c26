// SPDX-License-Identifier: MIT
// What the value engine proves of short pieces of 32-bit x86 and AArch64, and what it must not
// prove.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "decode/instruction/effects.h"
#include "replay/values/value_history.h"

namespace flowback::values {
namespace {

using Pieces = std::vector<std::vector<uint8_t>>;
using RegisterValues = std::vector<std::pair<uint8_t, uint64_t>>;

ExecutedPath PathOf(CodeMode mode, const Pieces& code) {
  ExecutedPath path{.mode = mode};
  uint64_t address = 0x401000;
  for (const std::vector<uint8_t>& bytes : code) {
    PathInstruction one{.address = address, .mode = mode};
    std::memcpy(one.bytes.data(), bytes.data(), bytes.size());
    one.length = static_cast<uint8_t>(bytes.size());
    address += one.length;
    one.next = address;
    path.instructions.push_back(one);
  }
  path.end_address = address;
  return path;
}

std::vector<uint8_t> BytesOfWord(uint32_t word) {
  std::vector<uint8_t> bytes(sizeof word);
  std::memcpy(bytes.data(), &word, sizeof word);
  return bytes;
}

ExecutedPath ArmPath(const std::vector<uint32_t>& words, uint32_t end = 0) {
  Pieces code;
  for (const uint32_t word : words) code.push_back(BytesOfWord(word));
  ExecutedPath path = PathOf(CodeMode::kAArch64, code);
  if (end != 0) path.end_code = BytesOfWord(end);
  return path;
}

ValueHistory HistoryFrom(ExecutedPath path, RegisterValues registers) {
  const size_t end = path.instructions.size();
  const KnownState state{.point = end, .registers = std::move(registers), .memory = {}};
  return ValueHistory::Of(std::move(path), {.states = {state}, .is_private = {}, .constant = {}});
}

// mov [esp], ecx; mov eax, 4 (write); int 0x80; mov edx, [esp]
TEST(MachinesHistory, ACallOf32BitCodeKeepsRegistersAndMemory) {
  const Pieces code = {{0x89, 0x0c, 0x24}, {0xb8, 4, 0, 0, 0}, {0xcd, 0x80}, {0x8b, 0x14, 0x24}};
  const auto write = HistoryFrom(PathOf(CodeMode::kX86_32, code), {{4, 0x7000}, {2, 9}, {3, 5}});
  EXPECT_EQ(write.Register(0, 1), 9U);
  EXPECT_EQ(write.Register(0, 3), 5U);
  EXPECT_FALSE(write.Register(3, 0)) << "the call's result";
  Pieces reads = code;
  reads[1][1] = 3;
  const auto read = HistoryFrom(PathOf(CodeMode::kX86_32, reads), {{4, 0x7000}, {2, 9}});
  EXPECT_FALSE(read.Register(0, 1)) << "read() writes to memory";
}

// call; then INT 80h, which flows leave out: mov eax, 4 (write); call +0; ...; mov edx, [esp]
TEST(MachinesHistory, ACallByATrapThatNoFlowHas) {
  ExecutedPath path =
      PathOf(CodeMode::kX86_32, {{0x89, 0x0c, 0x24}, {0xb8, 4, 0, 0, 0}, {0x8b, 0x14, 0x24}});
  const uint64_t trap = path.instructions[2].address;
  path.instructions[1].then_traps = true;
  path.instructions[2].address += 2;
  path.instructions[2].next += 2;
  path.end_address += 2;
  const auto write = HistoryFrom(path, {{4, 0x7000}, {2, 9}, {3, 5}});
  EXPECT_EQ(path.instructions[1].next, trap);
  EXPECT_EQ(write.Register(0, 1), 9U);
  EXPECT_TRUE(write.MakesCall(1));
  EXPECT_FALSE(write.MakesCall(0));
  EXPECT_EQ(write.CallRegister(1, 0), 4U) << "its number";
  EXPECT_EQ(write.CallRegister(1, 3), 5U);
  EXPECT_FALSE(write.CallResult(1));
  path.instructions[1].then_traps = false;
  EXPECT_FALSE(HistoryFrom(path, {{4, 0x7000}, {2, 9}}).Register(0, 1)) << "a hole in the flow";
}

// push 4; push 0x1234, as 32-bit code does
TEST(MachinesHistory, APushedNumberIsAWord) {
  const auto history = HistoryFrom(
      PathOf(CodeMode::kX86_32, {{0x6a, 0xfe}, {0x68, 0x34, 0x12, 0, 0}}), {{4, 0x7000}});
  EXPECT_EQ(history.Register(1, 4), 0x7004U);
  EXPECT_EQ(history.Register(0, 4), 0x7008U);
  EXPECT_EQ(history.Byte(2, 0x7004), 0xfe);
  EXPECT_EQ(history.Byte(2, 0x7007), 0xff);
  EXPECT_EQ(history.OwnWord(2, 0x7004, 4), 0xfffffffeU);
  EXPECT_EQ(history.OwnWord(2, 0x7000, 4), 0x1234U);
  EXPECT_FALSE(history.OwnWord(2, 0x7008, 4));
}

// mov eax, [ecx - 16], where the address wraps around; what a PUSHA stores is not followed.
TEST(MachinesHistory, AddressesOf32BitCodeWrap) {
  const auto wraps =
      HistoryFrom(PathOf(CodeMode::kX86_32, {{0x8b, 0x41, 0x20}}), {{0, 7}, {1, 0xfffffff0}});
  EXPECT_EQ(wraps.Byte(0, 0x10), 7);
  const auto pusha = HistoryFrom(PathOf(CodeMode::kX86_32, {{0x60}}), {{0, 7}, {4, 0x7000}});
  EXPECT_FALSE(pusha.Register(0, 0));
}

// str x1, [x0]; mov x8, 64 (write) or 63 (read); svc 0; ldr x2, [x3]
TEST(MachinesHistory, ACallOfAArch64KeepsRegistersAndMemory) {
  const auto write = HistoryFrom(ArmPath({0xf9000201, 0xd2800808, 0xd4000001, 0xf9400062}),
                                 {{2, 9}, {3, 0x7000}, {16, 0x7000}});
  EXPECT_EQ(write.Register(0, 1), 9U);
  EXPECT_FALSE(write.Register(2, 0));
  const auto read = HistoryFrom(ArmPath({0xf9000201, 0xd28007e8, 0xd4000001, 0xf9400062}),
                                {{2, 9}, {3, 0x7000}, {16, 0x7000}});
  EXPECT_FALSE(read.Register(0, 1));
}

// str x1, [x0]; ldr x2, [x3], where only the tags of the pointers differ.
TEST(MachinesHistory, TagsOfPointersAreNoPartOfTheAddress) {
  const ExecutedPath path = ArmPath({0xf9000001, 0xf9400062});
  const auto history =
      HistoryFrom(path, {{0, 0x1200'0000'0000'7000}, {2, 9}, {3, 0x3400'0000'0000'7000}});
  EXPECT_EQ(history.Register(0, 1), 9U);
}

// mov x1, x2; then an access that faults
TEST(MachinesHistory, WhatAFaultMayHaveLoadedOrStoredIsNotKnownBefore) {
  const RegisterValues end = {{0, 0x7000}, {1, 5}, {4, 6}};
  const auto one = HistoryFrom(ArmPath({0xaa0203e1}, 0xf9400001), end);  // ldr x1, [x0]
  EXPECT_EQ(one.Register(0, 2), 5U);
  const auto pair = HistoryFrom(ArmPath({0xaa0203e1}, 0xa9401001), end);  // ldp x1, x4, [x0]
  EXPECT_FALSE(pair.Register(0, 2));
  EXPECT_FALSE(pair.Register(0, 4));
  EXPECT_EQ(pair.Register(0, 0), 0x7000U);
  const auto store = HistoryFrom(ArmPath({0xf9000002}, 0xa9001001), end);  // stp x1, x4, [x0]
  EXPECT_EQ(store.Register(0, 1), 5U);
}

// mov x1, x2; dc zva, x0: a block of a size that the processor says
TEST(MachinesHistory, AZeroedBlockIsNotKnownBefore) {
  ExecutedPath path = ArmPath({0xaa0203e1, 0xd50b7420});
  KnownState state{.point = 2, .registers = {{0, 0x7040}, {1, 5}}};
  state.memory = [](uint64_t) { return std::optional<uint8_t>(0); };
  const auto history =
      ValueHistory::Of(path, {.states = {state}, .is_private = {}, .constant = {}});
  EXPECT_EQ(history.Register(0, 2), 5U);
  EXPECT_FALSE(history.Byte(0, 0x7000));
  EXPECT_FALSE(history.Byte(0, 0x77ff));
  EXPECT_EQ(history.Byte(0, 0x6fff), 0);
  EXPECT_EQ(history.Byte(0, 0x7800), 0);
}

// paciasp; xpaci x0, ...
TEST(MachinesHistory, WhatHasNoExactStepsLeavesNothingKnown) {
  for (const uint32_t word : {0xd503233fU, 0xd500401fU, 0x1e7e0000U}) {
    const auto history = HistoryFrom(ArmPath({word}), {{30, 5}, {3, 6}});
    EXPECT_FALSE(history.Register(0, 30)) << std::hex << word;
  }
}

}  // namespace
}  // namespace flowback::values
