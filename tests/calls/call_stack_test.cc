// SPDX-License-Identifier: MIT
// Calls and returns as a flow makes them, as one line of words each.
#include "flowback/replay/call_stack.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace flowback {
namespace {

// Functions of 0x100 bytes: 'a' at 0xa00, 'b' at 0xb00, ... ; 0x1?00 is the cold part of 'a' to
// 'f', 0x2?00 the linkage stub of it.
class Letters final : public FunctionFinder {
 public:
  FunctionPiece Find(const AddressSpace*, uint64_t ip) override {
    const uint64_t letter = (ip >> 8) & 0xf;
    const uint64_t kind = ip >> 12;
    if (letter < 0xa || kind > 2) return {};
    const uint64_t begin = ip & ~uint64_t{0xff};
    return {.begin = begin,
            .end = begin + 0x100,
            .id = kind == 2 ? letter + 0x100 : letter,
            .is_entry = kind != 1,
            .is_stub = kind == 2};
  }
};

std::string Name(uint64_t ip) {
  const uint64_t letter = (ip >> 8) & 0xf;
  if (letter < 0xa || ip >> 12 > 2) return "?";
  return std::string(1, static_cast<char>('a' + letter - 0xa)) + (ip >> 12 == 2 ? "@plt" : "");
}

class Transcript final : public CallListener {
 public:
  void OnEnter(const Call& call, size_t depth) override {
    constexpr std::array kWords = {"", " tail", " running", " returned-to", " handler"};
    Add(depth, "+" + Name(call.entry_ip) + kWords[static_cast<size_t>(call.entry)] +
                   (call.via_stub ? " stub" : ""));
  }
  void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
              const ExitTime&) override {
    constexpr std::array kWords = {"", " tail", " unwound", " lost", " replaced", " end"};
    Add(depth, "-" + Name(call.entry_ip) + kWords[static_cast<size_t>(how)] + " " +
                   std::to_string(instructions));
  }
  void OnGap(const UntracedGap& gap, size_t depth) override {
    constexpr std::array kWords = {"syscall", "async", "filter"};
    Add(depth, std::string("[") + kWords[static_cast<size_t>(gap.cause)] +
                   (gap.came_back ? "]" : " ...]"));
  }
  std::string Take() {
    std::string all;
    all.swap(text_);
    return all;
  }

 private:
  void Add(size_t depth, const std::string& line) {
    text_ += (text_.empty() ? "" : "; ") + std::to_string(depth) + line;
  }
  std::string text_;
};

// Feeds a flow whose blocks have one instruction of four bytes each.
class CallStackTest : public testing::Test {
 protected:
  using Class = InstructionClass;

  void Block(uint64_t ip, Class last, uint64_t next, BlockExit exit = BlockExit::kTaken) {
    static constexpr std::array<uint8_t, 1> kLengths = {4};
    BlockRun run;
    run.address = ip;
    run.lengths = kLengths;
    run.next = next;
    run.exit = exit;
    run.last = last;
    run.space = space_;
    run.tsc = ++tsc_;
    stack_.OnBlock(run);
  }
  void CallAt(uint64_t ip, uint64_t target) { Block(ip, Class::kCall, target); }
  void ReturnAt(uint64_t ip, uint64_t target) { Block(ip, Class::kReturn, target); }
  void JumpAt(uint64_t ip, uint64_t target) { Block(ip, Class::kIndirectJump, target); }
  void StepAt(uint64_t ip) { Block(ip, Class::kOther, ip + 4, BlockExit::kFallThrough); }
  void SyscallAt(uint64_t ip) { Block(ip, Class::kFarCall, 0, BlockExit::kStopped); }
  void Event(EventKind kind, uint64_t ip, uint64_t target = 0) {
    TraceEvent event;
    event.kind = kind;
    event.ip = ip;
    event.target = target;
    event.tsc = ++tsc_;
    stack_.OnEvent(event);
  }
  void Started(uint64_t ip) { Event(EventKind::kStarted, ip); }
  void StoppedAsync(uint64_t ip) { Event(EventKind::kStoppedAsync, ip); }
  void Lose() { stack_.OnLoss(DataLoss{}); }

  // `a` has called `b`, which has called `c`: the next return goes to 0xb04, then 0xa04.
  void EnterThree() {
    CallAt(0xa00, 0xb00);
    CallAt(0xb00, 0xc00);
    transcript_.Take();
  }

  Letters functions_;
  Transcript transcript_;
  CallStack stack_{functions_, transcript_};
  AddressSpace first_space_;
  const AddressSpace* space_ = &first_space_;
  uint64_t tsc_ = 0;
};

TEST_F(CallStackTest, CallsAndReturns) {
  CallAt(0xa00, 0xb00);
  CallAt(0xb00, 0xc00);
  ReturnAt(0xc00, 0xb04);
  ReturnAt(0xb04, 0xa04);
  StepAt(0xa04);
  EXPECT_EQ(transcript_.Take(), "0+a running; 1+b; 2+c; 2-c 1; 1-b 3");
  stack_.Finish();
  EXPECT_EQ(transcript_.Take(), "0-a end 5");
}

TEST_F(CallStackTest, OwnInstructionsAreThoseWithoutTheCalleds) {
  CallAt(0xa00, 0xb00);
  StepAt(0xb00);
  StepAt(0xb04);
  EXPECT_EQ(stack_.calls().at(1).self, 2u);
  EXPECT_EQ(stack_.calls().at(0).self, 1u);
  EXPECT_EQ(stack_.instructions(), 3u);
}

TEST_F(CallStackTest, RecursionReturnsToTheNearest) {
  CallAt(0xa00, 0xb00);
  CallAt(0xb00, 0xb00);
  CallAt(0xb00, 0xb00);
  transcript_.Take();
  ReturnAt(0xb08, 0xb04);
  ReturnAt(0xb08, 0xb04);
  ReturnAt(0xb08, 0xa04);
  EXPECT_EQ(transcript_.Take(), "3-b 1; 2-b 3; 1-b 5");
}

TEST_F(CallStackTest, ATailCallReturnsForItsCaller) {
  CallAt(0xa00, 0xb00);
  JumpAt(0xb00, 0xc00);
  ReturnAt(0xc00, 0xa04);
  EXPECT_EQ(transcript_.Take(), "0+a running; 1+b; 1-b tail 1; 1+c tail; 1-c 1");
}

TEST_F(CallStackTest, LoopsAndColdPartsAreNoTailCalls) {
  CallAt(0xa00, 0xb00);
  transcript_.Take();
  JumpAt(0xb80, 0xb00);   // a loop to the function's entry
  JumpAt(0xb00, 0x1b00);  // its cold part
  JumpAt(0x1b10, 0xb40);  // and back
  JumpAt(0xb40, 0x500);   // to code without a name
  JumpAt(0x500, 0x504);
  ReturnAt(0x504, 0xa04);
  EXPECT_EQ(transcript_.Take(), "1-b 6");
}

TEST_F(CallStackTest, AStubAndItsFunctionAreOneCall) {
  CallAt(0xa00, 0x2b00);
  JumpAt(0x2b00, 0xb00);
  ReturnAt(0xb00, 0xa04);
  EXPECT_EQ(transcript_.Take(), "0+a running; 1+b stub; 1-b 2");
}

TEST_F(CallStackTest, ATailCallThroughAStub) {
  CallAt(0xa00, 0xb00);
  JumpAt(0xb00, 0x2c00);
  JumpAt(0x2c00, 0xc00);
  ReturnAt(0xc00, 0xa04);
  EXPECT_EQ(transcript_.Take(), "0+a running; 1+b; 1-b tail 1; 1+c tail stub; 1-c 2");
}

TEST_F(CallStackTest, AStubThatLeadsToUnknownCodeIsTold) {
  CallAt(0xa00, 0x2b00);
  JumpAt(0x2b00, 0x500);
  ReturnAt(0x500, 0xa04);
  EXPECT_EQ(transcript_.Take(), "0+a running; 1+b@plt; 1-b@plt 2");
}

// setjmp in a, longjmp in c: a jump into the middle of a function on the stack.
TEST_F(CallStackTest, LongjmpUnwinds) {
  EnterThree();
  JumpAt(0xc00, 0xa40);
  StepAt(0xa40);
  EXPECT_EQ(transcript_.Take(), "2-c unwound 1; 1-b unwound 2");
  EXPECT_EQ(stack_.calls().size(), 1u);
}

// The unwinder "returns" to the landing pad, which nobody called from.
TEST_F(CallStackTest, AnExceptionUnwindsToTheLandingPad) {
  EnterThree();
  CallAt(0xc00, 0xd00);
  transcript_.Take();
  ReturnAt(0xd00, 0xb60);
  ReturnAt(0xb60, 0xa04);
  EXPECT_EQ(transcript_.Take(), "3-d unwound 1; 2-c unwound 2; 1-b 4");
}

TEST_F(CallStackTest, AReturnOverSeveralCallsUnwindsThem) {
  EnterThree();
  ReturnAt(0xc00, 0xa04);
  EXPECT_EQ(transcript_.Take(), "2-c unwound 1; 1-b 2");
}

TEST_F(CallStackTest, AReturnFromTheOutermostFindsItsCaller) {
  ReturnAt(0xc00, 0xb04);
  ReturnAt(0xb04, 0xa04);
  EXPECT_EQ(transcript_.Take(), "0+c running; 0-c 1; 0+b returned-to; 0-b 1; 0+a returned-to");
}

TEST_F(CallStackTest, ACallToTheNextInstructionIsNone) {
  CallAt(0xa00, 0xa04);
  StepAt(0xa04);
  EXPECT_EQ(transcript_.Take(), "0+a running");
}

TEST_F(CallStackTest, ACallToTheNextFunctionIsOne) {
  CallAt(0xafc, 0xb00);
  ReturnAt(0xb00, 0xb00);
  EXPECT_EQ(transcript_.Take(), "0+a running; 1+b; 1-b 1");
}

// a calls the thunk d, which calls its own middle and returns to b.
TEST_F(CallStackTest, ARetpolineIsATailCall) {
  CallAt(0xa00, 0xd00);
  CallAt(0xd00, 0xd20);
  ReturnAt(0xd20, 0xb00);
  ReturnAt(0xb00, 0xa04);
  EXPECT_EQ(transcript_.Take(), "0+a running; 1+d; 2+d; 2-d 1; 1-d tail 2; 1+b tail; 1-b 1");
}

TEST_F(CallStackTest, ASystemCallIsAGap) {
  CallAt(0xa00, 0xb00);
  SyscallAt(0xb00);
  Event(EventKind::kStopped, 0xb00);
  Started(0xb04);
  ReturnAt(0xb04, 0xa04);
  EXPECT_EQ(transcript_.Take(), "0+a running; 1+b; 2[syscall]; 1-b 2");
}

TEST_F(CallStackTest, ASystemCallMadeAgain) {
  SyscallAt(0xb00);
  Started(0xb00);
  SyscallAt(0xb00);
  Started(0xb04);
  StepAt(0xb04);
  EXPECT_EQ(transcript_.Take(), "0+b running; 1[syscall]; 1[syscall]");
}

TEST_F(CallStackTest, APageFaultIsAGap) {
  StepAt(0xb00);
  StoppedAsync(0xb04);
  Started(0xb04);
  StoppedAsync(0xb04);
  Started(0xb04);
  StepAt(0xb04);
  EXPECT_EQ(transcript_.Take(), "0+b running; 1[async]; 1[async]");
}

TEST_F(CallStackTest, WhatNeverComesBackIsAnOpenGap) {
  SyscallAt(0xb00);
  stack_.Finish();
  EXPECT_EQ(transcript_.Take(), "0+b running; 1[syscall ...]; 0-b end 1");
}

// The handler d returns to e, which makes the system call that resumes b.
TEST_F(CallStackTest, ASignalHandlerEndsWhereItInterrupted) {
  EnterThree();
  StoppedAsync(0xc04);
  Started(0xd00);
  CallAt(0xd00, 0xf00);
  ReturnAt(0xf00, 0xd04);
  ReturnAt(0xd04, 0xe10);
  SyscallAt(0xe10);
  Started(0xc04);
  ReturnAt(0xc04, 0xb04);
  EXPECT_EQ(transcript_.Take(),
            "3[async]; 3+d handler; 4+f; 4-f 1; 3-d 3; 3+e returned-to; 4[syscall]; 3-e 1; 2-c 5");
}

// The page of the handler is not there yet: it stops again before its first instruction.
TEST_F(CallStackTest, AHandlerThatStopsAtOnce) {
  StepAt(0xa00);
  StoppedAsync(0xa04);
  Started(0xd00);
  StoppedAsync(0xd00);
  Started(0xd00);
  ReturnAt(0xd00, 0xe10);
  SyscallAt(0xe10);
  Started(0xa04);
  StepAt(0xa04);
  EXPECT_EQ(transcript_.Take(),
            "0+a running; 1[async]; 1[async]; 1+d handler; 1-d 1; 1+e returned-to; 2[syscall]; "
            "1-e 1");
}

// What the handler interrupted was a system call, which is made again afterwards.
TEST_F(CallStackTest, AHandlerInASystemCall) {
  SyscallAt(0xa20);
  Started(0xd00);
  ReturnAt(0xd00, 0xe10);
  SyscallAt(0xe10);
  Started(0xa20);
  SyscallAt(0xa20);
  EXPECT_EQ(transcript_.Take(),
            "0+a running; 1[syscall]; 1+d handler; 1-d 1; 1+e returned-to; 2[syscall]; 1-e 1");
  EXPECT_EQ(stack_.calls().size(), 1u);
}

TEST_F(CallStackTest, AHandlerAfterTheOther) {
  StepAt(0xa00);
  StoppedAsync(0xa04);
  Started(0xd00);
  ReturnAt(0xd00, 0xe10);
  SyscallAt(0xe10);
  Started(0xf00);
  ReturnAt(0xf00, 0xe10);
  SyscallAt(0xe10);
  Started(0xa04);
  StepAt(0xa04);
  EXPECT_EQ(transcript_.Take(),
            "0+a running; 1[async]; 1+d handler; 1-d 1; 1+e returned-to; 2[syscall]; 1-e 1; "
            "1+f handler; 1-f 1; 1+e returned-to; 2[syscall]; 1-e 1");
}

TEST_F(CallStackTest, LongjmpOutOfAHandler) {
  EnterThree();
  StoppedAsync(0xc04);
  Started(0xd00);
  CallAt(0xd00, 0xf00);
  JumpAt(0xf00, 0xa40);
  EXPECT_EQ(transcript_.Take(),
            "3[async]; 3+d handler; 4+f; 4-f unwound 1; 3-d unwound 2; 2-c unwound 2; 1-b unwound "
            "3");
}

TEST_F(CallStackTest, InterruptAndItsReturnWhenTheKernelIsTraced) {
  CallAt(0xa00, 0xb00);
  Event(EventKind::kInterrupted, 0xb04, 0xc00);
  CallAt(0xc00, 0xd00);
  ReturnAt(0xd00, 0xc04);
  Block(0xc08, Class::kFarReturn, 0xb04);
  ReturnAt(0xb04, 0xa04);
  EXPECT_EQ(transcript_.Take(), "0+a running; 1+b; 2+c handler; 3+d; 3-d 1; 2-c 3; 1-b 4");
}

TEST_F(CallStackTest, SystemCallsOfATracedKernelAreCalls) {
  Block(0xa00, Class::kFarCall, 0xb00);
  Block(0xb00, Class::kFarReturn, 0xa04);
  StepAt(0xa04);
  EXPECT_EQ(transcript_.Take(), "0+a running; 1+b; 1-b 1");
}

TEST_F(CallStackTest, ALossCutsTheStack) {
  EnterThree();
  Lose();
  EXPECT_EQ(transcript_.Take(), "2-c lost 0; 1-b lost 1; 0-a lost 2");
  EXPECT_TRUE(stack_.calls().empty());
  ReturnAt(0xc00, 0xb04);
  EXPECT_EQ(transcript_.Take(), "0+c running; 0-c 1; 0+b returned-to");
}

TEST_F(CallStackTest, ExecReplacesTheProgram) {
  const std::vector<uint8_t> bytes(0x1000);
  const auto section =
      std::make_shared<CodeSection>("old", 0, Bytes(bytes), nullptr, Verification::kGiven);
  first_space_.Map({.address = 0xa00, .size = 0x600, .section_offset = 0, .section = section});
  const AddressSpace other;
  CallAt(0xa00, 0xb00);
  SyscallAt(0xb00);
  Started(0xf00);
  space_ = &other;
  StepAt(0xf00);
  EXPECT_EQ(transcript_.Take(),
            "0+a running; 1+b; 2[syscall]; 1-b replaced 1; 0-a replaced 2; 0+f running");
}

// The new program has the same libraries at the same addresses; the recording's records show the
// exec.
TEST_F(CallStackTest, ExecOfAProgramWithTheSameMappings) {
  stack_.LookForExec([](uint64_t begin, uint64_t end) { return begin <= 3 && 3 <= end; });
  CallAt(0xa00, 0xb00);
  SyscallAt(0xb00);
  Started(0xf00);
  StepAt(0xf00);
  SyscallAt(0xf04);
  Started(0xe00);
  StepAt(0xe00);
  EXPECT_EQ(transcript_.Take(),
            "0+a running; 1+b; 2[syscall]; 1-b replaced 1; 0-a replaced 2; 0+f running; "
            "1[syscall]; 1+e handler");
}

TEST_F(CallStackTest, AnotherMappingIsNoOtherProgram) {
  const std::vector<uint8_t> bytes(0x1000);
  const auto section =
      std::make_shared<CodeSection>("old", 0, Bytes(bytes), nullptr, Verification::kGiven);
  first_space_.Map({.address = 0xa00, .size = 0x600, .section_offset = 0, .section = section});
  AddressSpace more = first_space_;
  more.Map({.address = 0x5000, .size = 0x100, .section_offset = 0, .section = section});
  CallAt(0xa00, 0xb00);
  SyscallAt(0xb00);
  Started(0xb04);
  space_ = &more;
  ReturnAt(0xb04, 0xa04);
  EXPECT_EQ(transcript_.Take(), "0+a running; 1+b; 2[syscall]; 1-b 2");
}

TEST_F(CallStackTest, CallsOutOfAFilterRangeComeBack) {
  Block(0xa00, Class::kCall, 0, BlockExit::kStopped);
  Started(0xa04);
  StepAt(0xa04);
  EXPECT_EQ(transcript_.Take(), "0+a running; 1[filter]");
}

TEST_F(CallStackTest, AnAbortedTransactionGoesBackToItsFunction) {
  CallAt(0xa00, 0xb00);
  Event(EventKind::kTransactionBegin, 0xb00);
  CallAt(0xb00, 0xc00);
  transcript_.Take();
  Event(EventKind::kTransactionAbort, 0xc10, 0xb40);
  ReturnAt(0xb40, 0xa04);
  EXPECT_EQ(transcript_.Take(), "2-c unwound 0; 1-b 2");
}

// A flow that calls for ever, as one that switches stacks may seem to, is cut.
class Bounds final : public CallListener {
 public:
  void OnEnter(const Call& call, size_t) override { Add('+', call.tsc, call.bounds); }
  void OnExit(const Call&, size_t, CallExit, uint64_t, const ExitTime& time) override {
    Add('-', time.tsc, time.bounds);
  }
  void OnGap(const UntracedGap& gap, size_t) override { Add('[', gap.begin_tsc, gap.begin_bounds); }
  std::string text;

 private:
  void Add(char what, uint64_t tsc, const TscInterval& bounds) {
    text += (text.empty() ? "" : " ") + (what + std::to_string(bounds.lo)) + "<" +
            std::to_string(tsc) + "<" + std::to_string(bounds.hi);
  }
};

// The first instruction of a run lies within the run's bounds; the last one, which calls, may be
// known better. After a loss nothing bounds when a call was left.
TEST(CallTimes, HaveTheBoundsOfTheirInstructions) {
  Letters functions;
  Bounds bounds;
  CallStack stack(functions, bounds);
  AddressSpace space;
  static constexpr std::array<uint8_t, 2> kLengths = {4, 4};
  BlockRun run;
  run.lengths = kLengths;
  run.space = &space;
  const auto block = [&](uint64_t ip, InstructionClass last, BlockExit exit, uint64_t next,
                         uint64_t tsc) {
    run.address = ip;
    run.last = last;
    run.exit = exit;
    run.next = next;
    run.tsc = tsc;
    run.bounds = {tsc - 10, tsc + 10};
    run.last_lo = tsc - 5;
    stack.OnBlock(run);
  };
  block(0xa00, InstructionClass::kCall, BlockExit::kTaken, 0xb00, 100);
  block(0xb00, InstructionClass::kFarCall, BlockExit::kStopped, 0, 200);
  block(0xb08, InstructionClass::kReturn, BlockExit::kTaken, 0xa08, 300);
  DataLoss loss;
  loss.tsc = 290;  // from an earlier packet than the estimate of what came before the loss
  stack.OnLoss(loss);
  EXPECT_EQ(bounds.text, "+90<100<110 +95<100<110 [195<200<210 -295<300<310 -295<300<0");
}

TEST_F(CallStackTest, DepthIsBounded) {
  for (size_t i = 0; i < CallStack::kMostCalls + 100; ++i) CallAt(0xa00, 0xa00);
  EXPECT_LT(stack_.calls().size(), 200u);
}

}  // namespace
}  // namespace flowback
