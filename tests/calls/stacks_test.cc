// SPDX-License-Identifier: MIT
// Several stacks of one thread, and stacks as deep as memory allows: the model by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "flowback/replay/thread_stack.h"

namespace flowback {
namespace {

// Functions of 0x100 bytes, by their second last digit; 0x?f00 switches stacks.
class Functions final : public FunctionFinder {
 public:
  FunctionPiece Find(const AddressSpace*, uint64_t ip) override {
    const uint64_t begin = ip & ~uint64_t{0xff};
    return {.begin = begin, .end = begin + 0x100, .id = begin, .is_entry = true};
  }
};

class Counter final : public CallListener {
 public:
  void OnEnter(const Call&, size_t depth) override {
    EXPECT_EQ(depth, depth_[on_]);
    ++depth_[on_];
  }
  void OnExit(const Call& call, size_t depth, CallExit, uint64_t, const ExitTime&) override {
    EXPECT_EQ(depth + 1, depth_[on_]);
    --depth_[on_];
    self += call.self;
  }
  void OnGap(const UntracedGap&, size_t) override {}
  void OnSwitch(uint32_t stack) override {
    if (stack >= depth_.size()) depth_.resize(stack + 1);
    on_ = stack;
  }
  void ExpectAllLeft() const {
    for (const size_t depth : depth_) EXPECT_EQ(depth, 0u);
  }
  uint64_t self = 0;

 private:
  std::vector<size_t> depth_ = std::vector<size_t>(1);
  uint32_t on_ = 0;
};

// `mov rsp, [rdx]; ret` at each address that ends in f00, where the thread's code is.
class Stacks : public testing::Test {
 protected:
  static constexpr uint64_t kSwitch = 0xf00;
  static constexpr uint64_t kThrow = 0xe00;          // mov rsp, [rdx]; jmp rax
  static constexpr uint64_t kKeepingSwitch = 0xd00;  // mov [rdi], rsp; mov rsp, [rdx]; ret
  static constexpr uint64_t kTaking = 0xc00;         // lea rax, [rip + 0x79], which is kTaken
  static constexpr uint64_t kTaken = 0xc80;
  static constexpr uint64_t kBehindCall = 0x245;  // and one behind no call is 0x250

  Stacks() {
    Put(kSwitch, {0x48, 0x8b, 0x22, 0xc3});
    Put(kThrow, {0x48, 0x8b, 0x22, 0xff, 0xe0});
    Put(kKeepingSwitch, {0x48, 0x89, 0x27, 0x48, 0x8b, 0x22, 0xc3});
    Put(kTaking, {0x48, 0x8d, 0x05, 0x79, 0, 0, 0});
    Put(kBehindCall - 5, {0xe8, 0, 1, 0, 0});
    const auto section =
        std::make_shared<CodeSection>("code", 0, Bytes(code_), nullptr, Verification::kGiven);
    stack_.BeginsWithThread();
    space_.Map({.address = 0, .size = code_.size(), .section_offset = 0, .section = section});
  }

  void Put(uint64_t address, const std::vector<uint8_t>& code) {
    std::ranges::copy(code, code_.begin() + static_cast<ptrdiff_t>(address));
  }
  // Calls what leaps to `target`, out of a call at `ip`.
  void ThrowAt(uint64_t ip, uint64_t target) {
    static constexpr std::array<uint8_t, 2> kLengths = {3, 2};
    CallAt(ip, kThrow);
    Run(kThrow, kLengths, InstructionClass::kIndirectJump, target);
  }
  void KeepAndSwitchAt(uint64_t ip, uint64_t target) {
    static constexpr std::array<uint8_t, 3> kLengths = {3, 3, 1};
    CallAt(ip, kKeepingSwitch);
    Run(kKeepingSwitch, kLengths, InstructionClass::kReturn, target);
  }
  // The function at kTaking takes the address of a place in itself.
  void Take() {
    static constexpr std::array<uint8_t, 1> kLengths = {7};
    Run(kTaking, kLengths, InstructionClass::kOther, kTaking + 7);
  }
  void Block(uint64_t ip, InstructionClass last, uint64_t next) {
    static constexpr std::array<uint8_t, 1> kLengths = {4};
    Run(ip, kLengths, last, next);
  }
  void Run(uint64_t ip, std::span<const uint8_t> lengths, InstructionClass last, uint64_t next) {
    BlockRun run;
    run.address = ip;
    run.lengths = lengths;
    run.next = next;
    run.exit = BlockExit::kTaken;
    run.last = last;
    run.space = &space_;
    stack_.OnBlock(run);
  }
  void CallAt(uint64_t ip, uint64_t target) { Block(ip, InstructionClass::kCall, target); }
  void ReturnAt(uint64_t ip, uint64_t target) { Block(ip, InstructionClass::kReturn, target); }
  // Calls the switch at `ip`, which goes on at `target`.
  void SwitchAt(uint64_t ip, uint64_t target) {
    static constexpr std::array<uint8_t, 2> kLengths = {3, 1};
    CallAt(ip, kSwitch);
    Run(kSwitch, kLengths, InstructionClass::kReturn, target);
  }
  std::vector<uint64_t> Open() const {
    std::vector<uint64_t> open;
    for (const Call& call : stack_.calls()) open.push_back(call.function);
    return open;
  }

  std::vector<uint8_t> code_ = std::vector<uint8_t>(0x2000);
  AddressSpace space_;
  Functions functions_;
  Counter counter_;
  CallStack stack_{functions_, counter_};
};

using Calls = std::vector<uint64_t>;

TEST_F(Stacks, GoesFromOneToAnother) {
  CallAt(0x100, 0x200);
  SwitchAt(0x200, 0x300);  // 0x300 begins on a stack of its own
  EXPECT_EQ(Open(), Calls{0x300});
  EXPECT_EQ(stack_.stack(), 1u);
  CallAt(0x300, 0x400);
  SwitchAt(0x400, 0x204);  // back behind the first switch
  EXPECT_EQ(Open(), (Calls{0x100, 0x200}));
  EXPECT_EQ(stack_.stack(), 0u);
  SwitchAt(0x210, 0x404);
  EXPECT_EQ(Open(), (Calls{0x300, 0x400}));
  ReturnAt(0x404, 0x304);
  EXPECT_EQ(Open(), Calls{0x300});
  stack_.Finish();
  counter_.ExpectAllLeft();
}

TEST_F(Stacks, InstructionsElsewhereAreNotACalls) {
  CallAt(0x100, 0x200);
  SwitchAt(0x200, 0x300);
  for (int i = 0; i < 50; ++i) Block(0x300, InstructionClass::kJump, 0x300);
  SwitchAt(0x300, 0x204);
  ReturnAt(0x204, 0x104);
  const uint64_t all = stack_.instructions();
  stack_.Finish();
  EXPECT_EQ(counter_.self, all);
}

// Two stacks left at one place: the one left first is guessed, and exchanged when 0x500's caller
// turns out to be the other one's.
TEST_F(Stacks, AGuessIsPutRight) {
  CallAt(0x100, 0x200);
  SwitchAt(0x200, 0x300);  // the first, calls 0x500 from 0x300
  CallAt(0x300, 0x500);
  SwitchAt(0x500, 0x204);
  SwitchAt(0x210, 0x400);  // the second, from 0x400
  CallAt(0x400, 0x500);
  SwitchAt(0x500, 0x214);
  SwitchAt(0x220, 0x504);
  EXPECT_EQ(Open(), (Calls{0x300, 0x500}));
  ASSERT_EQ(stack_.guesses().size(), 1u);
  ReturnAt(0x504, 0x404);
  EXPECT_EQ(Open(), Calls{0x400});
  SwitchAt(0x410, 0x224);
  SwitchAt(0x230, 0x504);
  EXPECT_EQ(Open(), (Calls{0x300, 0x500}));
  ReturnAt(0x504, 0x304);
  EXPECT_EQ(Open(), Calls{0x300});
  stack_.Finish();
  counter_.ExpectAllLeft();
}

// An exception goes on in the middle of a function that is on the stack.
TEST_F(Stacks, ALeapIntoAnActiveFunctionIsThatFrame) {
  CallAt(0x100, 0x200);
  CallAt(0x204, 0x300);
  ThrowAt(0x310, 0x250);
  EXPECT_EQ(Open(), (Calls{0x100, 0x200}));
  EXPECT_EQ(stack_.stack(), 0u);
  ReturnAt(0x254, 0x104);
  EXPECT_EQ(Open(), Calls{0x100});
  stack_.Finish();
  counter_.ExpectAllLeft();
}

// Code that keeps the stack pointer which it leaves goes to another stack.
TEST_F(Stacks, ASwitchIntoAnActiveFunctionIsAnotherStack) {
  CallAt(0x100, 0x200);
  CallAt(0x204, 0x300);
  KeepAndSwitchAt(0x310, 0x250);
  EXPECT_EQ(stack_.stack(), 1u);
  KeepAndSwitchAt(0x254, 0x314);
  EXPECT_EQ(stack_.stack(), 0u);
  EXPECT_EQ(Open(), (Calls{0x100, 0x200, 0x300}));
}

// Behind a call a fibre may go on that was left before the flow begins.
TEST_F(Stacks, BehindACallItIsThatFrameIfEachStackWasSeen) {
  CallAt(0x100, 0x200);
  CallAt(0x204, 0x300);
  ThrowAt(0x310, kBehindCall);
  EXPECT_EQ(Open(), (Calls{0x100, 0x200}));
  stack_.OnLoss(DataLoss{});
  CallAt(0x100, 0x200);
  CallAt(0x204, 0x300);
  ThrowAt(0x310, kBehindCall);
  EXPECT_EQ(stack_.stack(), 1u);
}

TEST_F(Stacks, AFunctionsBeginIsANewStack) {
  CallAt(0x100, 0x200);
  CallAt(0x204, 0x300);
  ThrowAt(0x310, 0x200);
  EXPECT_EQ(stack_.stack(), 1u);
  EXPECT_EQ(Open(), Calls{0x200});
}

// Among several calls of a function the flow goes on in the one that took the address.
TEST_F(Stacks, ALeapToASavedPlaceIsTheCallThatSavedIt) {
  CallAt(0x100, kTaking);
  Take();
  CallAt(kTaking + 8, kTaking);
  CallAt(kTaking + 0x10, 0x300);
  ThrowAt(0x310, kTaken);
  EXPECT_EQ(Open(), (Calls{0x100, kTaking}));
}

// The handler has been taken off before the exception is raised again.
TEST_F(Stacks, RaisedAgainItGoesFurtherOut) {
  CallAt(0x100, kTaking);
  Take();
  CallAt(kTaking + 8, kTaking);
  Take();
  CallAt(kTaking + 8, 0x300);
  ThrowAt(0x310, kTaken);
  EXPECT_EQ(Open(), (Calls{0x100, kTaking, kTaking}));
  ThrowAt(kTaken, kTaken);
  EXPECT_EQ(Open(), (Calls{0x100, kTaking}));
}

// An interpreter's loop handles one exception after the other with one setjmp.
TEST_F(Stacks, RaisedFurtherInItComesBackToTheSameCall) {
  CallAt(0x100, kTaking);
  Take();
  CallAt(kTaking + 8, kTaking);
  Take();
  for (int i = 0; i < 3; ++i) {
    CallAt(kTaken, 0x300);
    ThrowAt(0x310, kTaken);
    EXPECT_EQ(Open(), (Calls{0x100, kTaking, kTaking}));
  }
}

TEST_F(Stacks, ALossIsOneOfAllStacks) {
  CallAt(0x100, 0x200);
  SwitchAt(0x200, 0x300);
  stack_.OnLoss(DataLoss{});
  counter_.ExpectAllLeft();
  SwitchAt(0x300, 0x204);
  EXPECT_EQ(Open(), Calls{0x200});
}

TEST_F(Stacks, MoreThanAreKept) {
  for (uint64_t i = 0; i < CallStack::kMostStacks + 1000; ++i) SwitchAt(0x100, 0x300);
  EXPECT_LE(stack_.calls().size(), 1u);
  stack_.Finish();
  counter_.ExpectAllLeft();
}

double SecondsOf(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

constexpr double kMostSeconds = 20;  // some tenths here; sanitizers take more

TEST_F(Stacks, AMillionDeep) {
  constexpr size_t kDepth = 1000000;
  EXPECT_LT(SecondsOf([&] {
              for (size_t i = 0; i < kDepth; ++i) CallAt(0x110, 0x100);
              EXPECT_EQ(stack_.calls().size(), kDepth + 1);
              for (size_t i = 0; i < kDepth; ++i) ReturnAt(0x150, 0x114);
              EXPECT_EQ(stack_.calls().size(), 1u);
            }),
            kMostSeconds);
}

// Each looks through all of the stack, and finds nothing.
TEST_F(Stacks, ReturnsThatMatchNothingFromTheDepths) {
  for (size_t i = 0; i < 200000; ++i) CallAt(0x110, 0x100);
  EXPECT_LT(SecondsOf([&] {
              for (uint64_t i = 0; i < 100000; ++i) {
                CallAt(0x120, 0x500);
                ReturnAt(0x504, 0x1000 + (i % 0x800));
              }
            }),
            kMostSeconds);
  stack_.Finish();
  counter_.ExpectAllLeft();
}

// Handlers that resume nowhere, switches back to nowhere, in any order.
TEST_F(Stacks, AnyFlowNests) {
  uint64_t random = 3;
  const auto next = [&](uint64_t most) {
    random = random * 6364136223846793005 + 1442695040888963407;
    return (random >> 33) % most;
  };
  for (int i = 0; i < 200000; ++i) {
    const uint64_t at = next(16) * 0x100 + next(4) * 4;
    const uint64_t to = next(16) * 0x100 + next(4) * 4;
    switch (next(8)) {
      case 0:
      case 1:
        CallAt(at, to);
        break;
      case 2:
      case 3:
        ReturnAt(at, to);
        break;
      case 4:
        SwitchAt(at, to);
        break;
      case 5:
        Block(at, InstructionClass::kIndirectJump, to);
        break;
      case 6:
        if (!stack_.calls().empty() && stack_.calls().back().return_address != 0)
          ReturnAt(at, stack_.calls().back().return_address);
        break;
      default: {
        TraceEvent event;
        event.kind = next(2) == 0 ? EventKind::kStoppedAsync : EventKind::kStarted;
        event.ip = at;
        stack_.OnEvent(event);
        if (next(500) == 0) stack_.OnLoss(DataLoss{});
      }
    }
  }
  const uint64_t all = stack_.instructions();
  stack_.Finish();
  counter_.ExpectAllLeft();
  EXPECT_EQ(counter_.self, all);
}

}  // namespace
}  // namespace flowback
