// SPDX-License-Identifier: MIT
// What the code alone shows of small loops; stepped_trip_test.cc asks the same of whole programs.
#include "replay/locks/loops/loop_proof.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "flowback/decode/code_image.h"

namespace flowback {
namespace {

using Code = std::vector<uint8_t>;

constexpr uint64_t kAt = 0x1000;
const Code kReadAlong = {0x8a, 0x07,         // mov al, [rdi]
                         0x48, 0xff, 0xc7};  // inc rdi
const Code kReadAgain = {0x8a, 0x07};
const Code kStore = {0x88, 0x0e};                     // mov [rsi], cl
const Code kPause = {0xf3, 0x90};                     // pause
const Code kCall = {0xe8, 0, 0, 0, 0};                // call the next instruction
const Code kLeaves = {0x84, 0xc0, 0x74, 0x40};        // test al, al; je 0x40 further
const Code kMayPassStore = {0x84, 0xc0, 0x74, 0x02};  // over what follows
const Code kEitherWay = {0x74, 0x00};                 // je the next instruction

// Whether a loop is work that has these parts, and then goes back while al is not 0.
bool IsWork(const std::vector<Code>& parts) {
  const auto code = std::make_shared<Code>();
  for (const Code& part : parts) code->insert(code->end(), part.begin(), part.end());
  code->insert(code->end(), {0x84, 0xc0});  // test al, al
  const size_t jump = code->size();
  code->insert(code->end(), {0x75, static_cast<uint8_t>(-static_cast<int>(jump) - 2)});  // jne
  code->resize(jump + 2 + 0x80, 0xc3);                                                   // ret
  const auto section =
      std::make_shared<CodeSection>("loop", 0, Bytes(*code), code, Verification::kGiven);
  AddressSpace space;
  space.Map({.address = kAt, .size = code->size(), .section_offset = 0, .section = section});
  LoopBlock block;
  block.space = &space;
  block.mode = CodeMode::kX86_64;
  block.target = kAt;
  block.branch = kAt + jump;
  return IsWorkByCode(block);
}

TEST(LoopProof, WaysThatReadAlongAreWork) {
  EXPECT_TRUE(IsWork({kReadAlong}));
  EXPECT_TRUE(IsWork({kReadAlong, kLeaves}));
}

TEST(LoopProof, OneWayThatWaitsIsEnough) {
  EXPECT_FALSE(IsWork({kReadAgain}));
  EXPECT_FALSE(IsWork({kReadAgain, {0x84, 0xc9, 0x74, 0x03, 0x48, 0xff, 0xc7}}));  // inc or not
}

TEST(LoopProof, AWayThatStoresIsNoWait) {
  EXPECT_TRUE(IsWork({kReadAlong, kMayPassStore, kStore}));
  EXPECT_FALSE(IsWork({kReadAgain, kMayPassStore, kStore}));
}

TEST(LoopProof, WhatPausesOrCallsIsNotProven) {
  EXPECT_FALSE(IsWork({kReadAlong, kPause}));
  EXPECT_FALSE(IsWork({kReadAlong, kCall}));
  EXPECT_FALSE(IsWork({kReadAlong, {0xf0, 0x0f, 0xc1, 0x0e}}));  // lock xadd [rsi], ecx
}

// Behind the loop's end it may do what it wants.
TEST(LoopProof, WhatComesBehindTheLoopDoesNotCount) {
  EXPECT_TRUE(IsWork({kReadAlong, {0x84, 0xc0, 0x75, 0x06}, kCall, {0xc3}}));
}

TEST(LoopProof, LooksAtSoManyWays) {
  const auto with_ways = [](size_t doublings) {
    std::vector<Code> parts(doublings, kEitherWay);
    parts.push_back(kReadAlong);
    return IsWork(parts);
  };
  EXPECT_TRUE(with_ways(7));
  EXPECT_FALSE(with_ways(8));
}

}  // namespace
}  // namespace flowback
