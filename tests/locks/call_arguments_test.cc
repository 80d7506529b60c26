// SPDX-License-Identifier: MIT
// What code gives to futex calls, as glibc's has it.
#include "replay/locks/loops/call_arguments.h"

#include <gtest/gtest.h>

#include <vector>

namespace flowback::test {
namespace {

CallArguments ArgumentsOfCode(const std::vector<uint8_t>& code) {
  const std::vector<TripPart> parts = {
      {.address = 0x1000, .code = code, .mode = CodeMode::kX86_64, .taken = true}};
  return ArgumentsOf(parts);
}

TEST(CallArgumentsTest, AreConstants) {
  // mov eax, 202; mov esi, 0x81; syscall
  const CallArguments arguments =
      ArgumentsOfCode({0xb8, 0xca, 0, 0, 0, 0xbe, 0x81, 0, 0, 0, 0x0f, 0x05});
  EXPECT_EQ(arguments.number, 202u);
  EXPECT_EQ(arguments.operation, 1);
}

TEST(CallArgumentsTest, FlagsThatAreLoadedLieAbove) {
  // mov esi, [r8+12]; xor sil, 0x80; syscall
  EXPECT_EQ(ArgumentsOfCode({0x41, 0x8b, 0x70, 0x0c, 0x40, 0x80, 0xf6, 0x80, 0x0f, 0x05}).operation,
            0);
  // The same with 0x81.
  EXPECT_EQ(ArgumentsOfCode({0x41, 0x8b, 0x70, 0x0c, 0x40, 0x80, 0xf6, 0x81, 0x0f, 0x05}).operation,
            1);
}

TEST(CallArgumentsTest, FlagsThatAreComputedLieAbove) {
  // shl edx, 8; mov esi, edx; xor esi, 0x100; or sil, 0x89; xor esi, r8d; syscall
  EXPECT_EQ(ArgumentsOfCode({0xc1, 0xe2, 0x08, 0x89, 0xd6, 0x81, 0xf6, 0x00, 0x01, 0x00,
                             0x00, 0x40, 0x80, 0xce, 0x89, 0x44, 0x31, 0xc6, 0x0f, 0x05})
                .operation,
            9);
}

TEST(CallArgumentsTest, WhatNothingTellsIsNotKnown) {
  const CallArguments nothing = ArgumentsOfCode({0x0f, 0x05});
  EXPECT_FALSE(nothing.number);
  EXPECT_FALSE(nothing.operation);
  // xor esi, 0x80; syscall: the register may have any operation
  EXPECT_FALSE(ArgumentsOfCode({0x81, 0xf6, 0x80, 0, 0, 0, 0x0f, 0x05}).operation);
  // mov esi, [rdi]; syscall
  EXPECT_FALSE(ArgumentsOfCode({0x8b, 0x37, 0x0f, 0x05}).operation);
  EXPECT_FALSE(ArgumentsOf({}).number);
}

}  // namespace
}  // namespace flowback::test
