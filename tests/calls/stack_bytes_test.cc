// SPDX-License-Identifier: MIT
// A model of calls that is made anew from bytes again and again gives the same as one that is not:
// on any flow, and on fibres that yield in any order, which is guessed and put right.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "replay/calls/shadow_stack/call_stack_archive.h"
#include "replay/flow/space_names.h"
#include "tests/support/random.h"

namespace flowback {
namespace {

// Functions of 0x100 bytes; in some an exception may go on. In another process they have other
// numbers.
class NumberedFunctions final : public FunctionFinder {
 public:
  explicit NumberedFunctions(uint64_t first) : first_(first) {}
  FunctionPiece Find(const AddressSpace* space, uint64_t ip) override {
    if (space == nullptr) return {};
    const uint64_t begin = ip & ~uint64_t{0xff};
    return {.begin = begin,
            .end = begin + 0x100,
            .id = first_ + begin,
            .is_entry = true,
            .is_stub = begin == 0xe00};
  }
  uint64_t LandingPad(const AddressSpace*, uint64_t return_address) override {
    return (return_address & 0xf00) == 0x700 ? 0x7f0 : 0;
  }

 private:
  const uint64_t first_;
};

// The whole output, as numbers.
class Notes final : public CallListener {
 public:
  std::vector<uint64_t> told;

  void OnEnter(const Call& call, size_t depth) override {
    Add({1, depth});
    Add(call);
  }
  void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
              const ExitTime& time) override {
    Add({2, depth, static_cast<uint64_t>(how), instructions, time.tsc, time.bounds.lo,
         time.bounds.hi});
    Add(call);
  }
  void OnGap(const UntracedGap& gap, size_t depth) override {
    Add({3, depth, static_cast<uint64_t>(gap.cause), gap.site, gap.begin_tsc, gap.begin_bounds.lo,
         gap.begin_bounds.hi, gap.end_tsc, uint64_t{gap.came_back}});
  }
  void OnSwitch(uint32_t stack) override { Add({4, stack}); }
  void OnCorrection(uint64_t guess, uint64_t next, uint32_t stack,
                    const LeftStack& right) override {
    ++corrections;
    Add({5, guess, next, stack});
    for (const Call& call : right.calls) Add(call);
    for (const StackGuess& each : right.guesses) Add({each.number, each.depth, each.left});
  }
  void OnCertain(uint64_t guess) override { Add({6, guess}); }
  void OnInherited(const std::vector<Call>& calls, uint64_t address) override {
    Add({7, address});
    for (const Call& call : calls) Add(call);
  }
  uint64_t corrections = 0;

 private:
  void Add(std::initializer_list<uint64_t> numbers) { told.insert(told.end(), numbers); }
  // A function's number is its own process's.
  void Add(const Call& call) {
    Add({call.entry_ip, call.site, call.return_address, call.resume, call.tsc, call.bounds.lo,
         call.bounds.hi, call.instructions_before, call.elsewhere_before, call.self,
         reinterpret_cast<uint64_t>(call.space), static_cast<uint64_t>(call.entry),
         uint64_t{call.via_stub}, uint64_t{call.is_stub}, call.stack_use, call.kept_in});
  }
};

// The same flow for a model that stays, and for one that does not. `mov rsp, [rdx]; ret` is at each
// address that ends in f00, `mov rax, [rsp]` at each that ends in d00, as in setjmp.
class StackBytes : public ::testing::Test {
 protected:
  static constexpr uint64_t kSwitch = 0xf00;

  StackBytes() {
    const auto put = [&](uint64_t at, const std::array<uint8_t, 4>& code) {
      std::copy(code.begin(), code.end(), code_.begin() + static_cast<ptrdiff_t>(at));
    };
    put(kSwitch, {0x48, 0x8b, 0x22, 0xc3});
    put(0xd00, {0x48, 0x8b, 0x04, 0x24});
    const auto section =
        std::make_shared<CodeSection>("code", 0, Bytes(code_), nullptr, Verification::kGiven);
    space_.Map({.address = 0, .size = code_.size(), .section_offset = 0, .section = section});
    names_.Add(space_);
  }

  void Run(uint64_t ip, std::span<const uint8_t> lengths, InstructionClass last, uint64_t next) {
    BlockRun run;
    run.address = ip;
    run.lengths = lengths;
    run.next = next;
    run.exit = last == InstructionClass::kFarCall ? BlockExit::kStopped : BlockExit::kTaken;
    run.last = last;
    run.space = &space_;
    run.tsc = tsc_ += 3;
    run.bounds = {.lo = tsc_ - 2, .hi = tsc_ + 5};
    Tell([&](CallStack& stack) { stack.OnBlock(run); });
  }
  void Block(uint64_t ip, InstructionClass last, uint64_t next) {
    static constexpr std::array<uint8_t, 1> kLengths = {4};
    Run(ip, kLengths, last, next);
  }
  void CallAt(uint64_t ip, uint64_t target) { Block(ip, InstructionClass::kCall, target); }
  void ReturnAt(uint64_t ip, uint64_t target) { Block(ip, InstructionClass::kReturn, target); }
  void SwitchAt(uint64_t ip, uint64_t target) {
    static constexpr std::array<uint8_t, 2> kLengths = {3, 1};
    CallAt(ip, kSwitch);
    Run(kSwitch, kLengths, InstructionClass::kReturn, target);
  }
  void Tell(const auto& what) {
    what(stays_);
    what(*changes_);
  }
  // Another process goes on.
  void Move() {
    const std::vector<uint8_t> bytes = CallStackArchive::ToBytes(*changes_, names_);
    ASSERT_FALSE(bytes.empty());
    functions_.push_back(std::make_unique<NumberedFunctions>(functions_.size() * 17));
    changes_ = std::make_unique<CallStack>(*functions_.back(), notes_of_changes_);
    ASSERT_TRUE(CallStackArchive::FromBytes(*changes_, bytes, names_));
    ASSERT_EQ(CallStackArchive::ToBytes(*changes_, names_), bytes);
    ++moves_;
  }
  void ExpectSame() {
    ASSERT_EQ(notes_of_changes_.told, notes_.told);
    notes_.told.clear();
    notes_of_changes_.told.clear();
    ASSERT_EQ(changes_->instructions(), stays_.instructions());
    ASSERT_EQ(changes_->stack(), stays_.stack());
    ASSERT_EQ(changes_->stopped_at(), stays_.stopped_at());
    ASSERT_EQ(changes_->calls().size(), stays_.calls().size());
    ASSERT_EQ(changes_->guesses().size(), stays_.guesses().size());
    ASSERT_EQ(changes_->guess_count(), stays_.guess_count());
  }
  void AnyStep() {
    const uint64_t at = random_.Below(16) * 0x100 + random_.Below(4) * 4;
    const uint64_t to = random_.Below(16) * 0x100 + random_.Below(4) * 4;
    switch (random_.Below(9)) {
      case 0:
      case 1:
        return CallAt(at, to);
      case 2:
      case 3:
        return ReturnAt(at, to);
      case 4:
        return SwitchAt(at, to);
      case 5:
        return Block(at, InstructionClass::kIndirectJump, to);
      case 6:
        if (stays_.calls().empty() || stays_.calls().back().return_address == 0) return;
        return ReturnAt(at, stays_.calls().back().return_address);
      case 7:
        return Block(at, InstructionClass::kFarCall, to);
      default: {
        TraceEvent event;
        constexpr std::array kKinds = {EventKind::kStoppedAsync, EventKind::kStarted,
                                       EventKind::kInterrupted};
        event.kind = kKinds[random_.Below(kKinds.size())];
        event.ip = at;
        event.target = to;
        event.tsc = random_.Below(2) == 0 ? 0 : ++tsc_;
        Tell([&](CallStack& stack) { stack.OnEvent(event); });
        if (random_.Below(200) == 0) Tell([](CallStack& stack) { stack.OnLoss(DataLoss{}); });
      }
    }
  }

  testing::Random random_{7};
  uint64_t tsc_ = 1000;
  std::vector<uint8_t> code_ = std::vector<uint8_t>(0x2000);
  AddressSpace space_;
  SpaceNames names_;
  std::vector<std::unique_ptr<NumberedFunctions>> functions_;
  NumberedFunctions own_{1};
  Notes notes_;
  Notes notes_of_changes_;
  CallStack stays_{own_, notes_};
  std::unique_ptr<CallStack> changes_ = std::make_unique<CallStack>(own_, notes_of_changes_);
  unsigned moves_ = 0;
};

TEST_F(StackBytes, AnyFlowGoesOn) {
  for (int i = 0; i < 60000; ++i) {
    AnyStep();
    if (random_.Below(40) == 0) Move();
    if (i % 100 == 0) ExpectSame();
    if (HasFatalFailure()) return;
  }
  Tell([](CallStack& stack) { stack.Finish(); });
  ExpectSame();
  EXPECT_GT(moves_, 1000u);
}

// Eight fibres, each with calls of its own, that all yield in one function to any other one.
TEST_F(StackBytes, FibresGoOn) {
  Tell([](CallStack& stack) { stack.BeginsWithThread(); });
  constexpr uint64_t kYield = 0xa00;
  std::array<std::vector<uint64_t>, 8> returns;  // of each fibre, but for the yield's
  size_t on = 0;
  std::array<bool, 8> begun = {true};
  uint64_t ip = 0x100;
  const auto yield_to = [&](size_t to) {
    CallAt(ip, kYield);
    returns[on].push_back(ip + 4);
    const uint64_t next = begun[to] ? kYield + 4 : 0x100 + to * 0x10;
    SwitchAt(kYield, next);
    on = to;
    ip = next;
    if (!std::exchange(begun[to], true)) return;
    ReturnAt(ip, returns[on].back());
    ip = returns[on].back();
    returns[on].pop_back();
  };
  for (int i = 0; i < 12000; ++i) {
    const size_t depth = returns[on].size();
    if (random_.Below(3) == 0) {
      const size_t to = random_.Below(returns.size());
      if (to != on) yield_to(to);
    } else if (depth < 6 && (depth == 0 || random_.Below(2) == 0)) {
      returns[on].push_back(ip + 4);
      const uint64_t to = 0x100 * (1 + random_.Below(8));
      CallAt(ip, to);
      ip = to + random_.Below(8) * 8;
    } else if (depth != 0) {
      ReturnAt(ip, returns[on].back());
      ip = returns[on].back();
      returns[on].pop_back();
    }
    if (random_.Below(20) == 0) Move();
    if (i % 100 == 0) ExpectSame();
    if (HasFatalFailure()) return;
  }
  Tell([](CallStack& stack) { stack.Finish(); });
  ExpectSame();
  EXPECT_GT(moves_, 300u);
  EXPECT_GT(notes_.corrections, 100u);
}

TEST_F(StackBytes, WhatWasInheritedGoesOn) {
  CallAt(0x100, 0x200);
  CallAt(0x200, 0x300);
  std::vector<Call> calls = stays_.calls();
  Tell([](CallStack& stack) { stack.Finish(); });
  Tell([&](CallStack& stack) { stack.Inherit(calls); });
  Move();
  Block(0x304, InstructionClass::kOther, 0x308);
  Move();
  ReturnAt(0x308, calls.back().return_address);
  ExpectSame();
  EXPECT_EQ(stays_.calls().size(), 2u);
}

// The unchanged part of deep stacks need not be kept twice.
TEST_F(StackBytes, BeginWithWhatHasNotChanged) {
  for (int i = 0; i < 1000; ++i) CallAt(0x110, 0x100);
  const std::vector<uint8_t> before = CallStackArchive::ToBytes(stays_, names_);
  for (int i = 0; i < 10; ++i) ReturnAt(0x150, 0x114);
  for (int i = 0; i < 20; ++i) CallAt(0x210, 0x200);
  const std::vector<uint8_t> behind = CallStackArchive::ToBytes(stays_, names_);
  const auto differs = std::ranges::mismatch(before, behind).in1 - before.begin();
  EXPECT_GT(static_cast<size_t>(differs), before.size() * 95 / 100);
  EXPECT_LT(before.size(), 1000u * 16);
}

TEST_F(StackBytes, OfOtherSpacesAreNone) {
  CallAt(0x100, 0x200);
  EXPECT_TRUE(CallStackArchive::ToBytes(stays_, SpaceNames()).empty());
  const std::vector<uint8_t> bytes = CallStackArchive::ToBytes(stays_, names_);
  EXPECT_FALSE(CallStackArchive::FromBytes(*changes_, bytes, SpaceNames()));
  EXPECT_TRUE(changes_->calls().empty());
}

TEST_F(StackBytes, CutOrDamagedDoNoHarm) {
  for (int i = 0; i < 300; ++i) AnyStep();
  const std::vector<uint8_t> whole = CallStackArchive::ToBytes(stays_, names_);
  for (size_t size = 0; size < whole.size(); ++size)
    ASSERT_FALSE(CallStackArchive::FromBytes(*changes_, Bytes(whole).first(size), names_)) << size;
  unsigned refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::vector<uint8_t> bytes = whole;
    for (uint64_t changes = 1 + random_.Below(3); changes != 0; --changes)
      bytes[random_.Below(bytes.size())] = static_cast<uint8_t>(random_.Below(256));
    refused += CallStackArchive::FromBytes(*changes_, bytes, names_) ? 0 : 1;
  }
  EXPECT_GT(refused, 100u);
  ASSERT_TRUE(CallStackArchive::FromBytes(*changes_, whole, names_));
  EXPECT_EQ(CallStackArchive::ToBytes(*changes_, names_), whole);
}

}  // namespace
}  // namespace flowback
