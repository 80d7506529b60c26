// SPDX-License-Identifier: MIT
// What the code alone shows of small loops; stepped_trip_test.cc asks the same of whole programs.
#include "replay/locks/loops/loop_proof.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
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

// Where the function lies that a loop calls, from the loop's begin on.
constexpr size_t kFunction = 0x60;
// Returns a call of it, by an instruction that lies `at` bytes behind the loop's begin.
Code CallAt(size_t at) { return {0xe8, static_cast<uint8_t>(kFunction - at - 5), 0, 0, 0}; }
const Code kMayPassCall = {0x84, 0xc0, 0x74, 0x05};  // test al, al; je over what follows
const Code kReturn = {0xc3};

Code Joined(const std::vector<Code>& parts) {
  Code all;
  for (const Code& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// A loop that has these parts, and then goes back while al is not 0. `function` is the code at
// kFunction.
struct Loop {
  explicit Loop(const std::vector<Code>& parts, const Code& function = {}) {
    *code = Joined(parts);
    code->insert(code->end(), {0x84, 0xc0});  // test al, al
    const size_t jump = code->size();
    code->insert(code->end(), {0x75, static_cast<uint8_t>(-static_cast<int>(jump) - 2)});  // jne
    code->resize(jump + 2 + 0x80, 0xc3);                                                   // ret
    std::ranges::copy(function, code->begin() + kFunction);
    const auto section =
        std::make_shared<CodeSection>("loop", 0, Bytes(*code), code, Verification::kGiven);
    space.Map({.address = kAt, .size = code->size(), .section_offset = 0, .section = section});
    block = BlockOf(jump, {2});
    block.target = kAt;
    block.branch = kAt + jump;
  }
  // A block of these instructions, `at` bytes behind the loop's begin.
  LoopBlock BlockOf(size_t at, std::vector<uint8_t> lengths) const {
    LoopBlock made;
    made.space = &space;
    made.mode = CodeMode::kX86_64;
    made.address = made.end = kAt + at;
    for (const uint8_t length : lengths) made.end += length;
    made.code = Bytes(*code).subspan(at, made.end - made.address);
    made.lengths = std::move(lengths);
    return made;
  }

  const std::shared_ptr<Code> code = std::make_shared<Code>();
  AddressSpace space;
  LoopBlock block;
};

bool IsWork(const std::vector<Code>& parts, const Code& function = {}) {
  return IsWorkByCode(Loop(parts, function).block);
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

TEST(LoopProof, WhatPausesOrCallsItselfIsNotProven) {
  EXPECT_FALSE(IsWork({kReadAlong, kPause}));
  EXPECT_FALSE(IsWork({kReadAlong, kCall}));
  EXPECT_FALSE(IsWork({kReadAlong, {0xf0, 0x0f, 0xc1, 0x0e}}));  // lock xadd [rsi], ecx
}

TEST(LoopProof, GoesThroughFunctions) {
  EXPECT_TRUE(IsWork({CallAt(0)}, Joined({kReadAlong, kReturn})));
  EXPECT_TRUE(IsWork({kReadAlong, CallAt(5)}, kReturn));
  EXPECT_FALSE(IsWork({CallAt(0)}, Joined({kReadAgain, kReturn})));
}

// The function may store before it returns, or not.
TEST(LoopProof, AFunctionThatStoresEndsTheWay) {
  EXPECT_TRUE(IsWork({kReadAlong, kMayPassCall, CallAt(9)}, Joined({kStore, kReturn})));
  EXPECT_FALSE(IsWork({kReadAgain, kMayPassCall, CallAt(6)}, Joined({kStore, kReturn})));
  EXPECT_FALSE(IsWork({kReadAgain, CallAt(2)}, Joined({kMayPassStore, kStore, kReturn})));
}

TEST(LoopProof, AFunctionMayWait) {
  EXPECT_FALSE(IsWork({kReadAlong, CallAt(5)}, Joined({kPause, kReturn})));
  const Code jump_anywhere = {0xff, 0xe2};  // jmp rdx
  EXPECT_FALSE(IsWork({kReadAlong, CallAt(5)}, jump_anywhere));
  const Code call_anywhere = {0xff, 0xd2};  // call rdx
  EXPECT_FALSE(IsWork({kReadAlong, CallAt(5)}, Joined({call_anywhere, kReturn})));
}

// The function's code is on the way twice, and that is no loop within the loop. The function jumps
// back, too.
TEST(LoopProof, AFunctionThatIsCalledTwiceIsNoLoop) {
  EXPECT_TRUE(IsWork({CallAt(0), CallAt(5)}, Joined({kReadAlong, kReturn})));
  EXPECT_FALSE(IsWork({CallAt(0), CallAt(5)}, Joined({kReadAgain, kReturn})));
  const Code both_ways = {0xeb, 0x01,   // jmp 3 further
                          0xc3,         // ret
                          0x8a, 0x07,   // mov al, [rdi]
                          0xeb, 0xfb};  // jmp to the return
  EXPECT_FALSE(IsWork({CallAt(0), CallAt(5)}, both_ways));
  EXPECT_TRUE(IsWork({kReadAlong, CallAt(5), CallAt(10)}, both_ways));
}

TEST(LoopProof, RecursionIsNotProven) {
  const Code calls_itself = {0x84, 0xc9, 0x74, 0x05,        // test cl, cl; je to the return
                             0xe8, 0xf7, 0xff, 0xff, 0xff,  // call its begin
                             0xc3};
  EXPECT_FALSE(IsWork({kReadAlong, CallAt(5)}, calls_itself));
}

// `je` leads over the way that reads along; the loop waits once that is done.
TEST(LoopProof, ByWaysThatWereGone) {
  const Loop loop({{0x84, 0xc9, 0x74, 0x03, 0x48, 0xff, 0xc7}, kReadAgain});
  const LoopBlock first = loop.BlockOf(0, {2, 2});
  EXPECT_FALSE(IsWorkByCode(loop.block));
  StepGraph graph;
  graph.Add(loop.block, step_way::kTaken);
  graph.Add(first, step_way::kOn);
  ProofByWays proof;
  EXPECT_TRUE(proof.Holds(loop.block, graph));
  EXPECT_TRUE(proof.Holds(loop.block, graph));
  graph.Add(first, step_way::kMiddle);
  EXPECT_TRUE(proof.Holds(loop.block, graph));
  graph.Add(first, step_way::kTaken);
  EXPECT_FALSE(proof.Holds(loop.block, graph));
}

// It may wait in a function, or pause there: once that was called, the proof is gone.
TEST(LoopProof, ByCallsThatWereMade) {
  const Loop loop({kReadAlong, kMayPassCall, CallAt(9)}, Joined({kPause, kReturn}));
  const LoopBlock first = loop.BlockOf(0, {2, 3, 2, 2});
  const LoopBlock call = loop.BlockOf(9, {5});
  StepGraph graph;
  graph.Add(loop.block, step_way::kTaken);
  graph.Add(first, step_way::kTaken);
  ProofByWays proof;
  EXPECT_TRUE(proof.Holds(loop.block, graph));
  graph.Add(first, step_way::kOn);
  EXPECT_TRUE(proof.Holds(loop.block, graph));
  graph.Add(call, step_way::kTaken);
  EXPECT_FALSE(proof.Holds(loop.block, graph));
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
