// SPDX-License-Identifier: MIT
// Blocks many at a time make the same calls as one by one: in random code with stubs, switches,
// tail calls and cold parts.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "flowback/model/block_batch.h"
#include "flowback/replay/call_stack.h"

namespace flowback {
namespace {

constexpr uint64_t kStubs = 0x20000;
constexpr uint64_t kCold = 0x10000;

// Functions of 0x100 bytes from 0x1000 to 0x1f00; the cold part of each lies at +0x10000, and its
// stub at +0x20000. The last one is code that no symbol covers.
class Sixteen final : public FunctionFinder {
 public:
  FunctionPiece Find(const AddressSpace*, uint64_t ip) override {
    const uint64_t begin = ip & ~uint64_t{0xff};
    const uint64_t number = (ip >> 8 & 0xf) + 1;
    const uint64_t kind = ip & 0xf0000;
    if (number == 16) return {};
    return {.begin = begin,
            .end = begin + 0x100,
            .id = kind == kStubs ? number + 0x100 : number,
            .is_entry = kind != kCold,
            .is_stub = kind == kStubs};
  }
};

class Told final : public CallListener {
 public:
  void OnEnter(const Call& call, size_t depth) override {
    Add({depth, call.entry_ip, call.site, call.return_address, call.function,
         call.instructions_before, call.tsc, static_cast<uint64_t>(call.entry),
         uint64_t{call.via_stub}, call.self});
  }
  void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
              const ExitTime& time) override {
    Add({depth, call.entry_ip, call.self, instructions, static_cast<uint64_t>(how), time.tsc});
  }
  void OnGap(const UntracedGap&, size_t) override {}
  void OnSwitch(uint32_t stack) override { Add({stack}); }

  std::vector<std::vector<uint64_t>> all;

 private:
  void Add(std::vector<uint64_t> numbers) { all.push_back(std::move(numbers)); }
};

// Code whose blocks have one instruction of four bytes each, made up when it is first come to.
class RandomCode {
 public:
  explicit RandomCode(uint32_t seed) : random_(seed) {}

  const BlockTable& table() const { return table_; }

  // Goes on by some steps, none of which is the last of the batch unless `steps` ends.
  std::vector<BlockStep> Walk(size_t count) {
    std::vector<BlockStep> steps;
    while (steps.size() < count) steps.push_back(Step());
    return steps;
  }
  uint64_t at() const { return at_; }

 private:
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  uint64_t Function() { return 0x1000 + 0x100 * Below(16); }

  uint32_t NumberOf(uint64_t address) {
    const auto [known, added] = numbers_.try_emplace(address, table_.size());
    if (added)
      table_.Add({.address = address,
                  .lengths = kLengths.data(),
                  .size = 4,
                  .count = 1,
                  .last = KindOf(address)});
    return known->second;
  }

  InstructionClass KindOf(uint64_t address) {
    using enum InstructionClass;
    if (address >= kStubs) return kIndirectJump;
    if ((address & 0xff) >= 0xe0) return kReturn;
    constexpr std::array kKinds = {kOther,        kConditional,  kConditional, kCall,
                                   kCall,         kIndirectCall, kReturn,      kIndirectJump,
                                   kIndirectJump, kJump};
    return kKinds[Below(kKinds.size())];
  }

  uint64_t FixedTarget(uint64_t address, InstructionClass kind) {
    const auto known = targets_.find(address);
    if (known != targets_.end()) return known->second;
    uint64_t target = (address & ~uint64_t{0xff}) + 4 * Below(48);
    if (kind == InstructionClass::kCall) target = Function() + (Below(2) == 0 ? kStubs : 0);
    if (kind != InstructionClass::kCall && Below(8) == 0) target ^= kCold;
    if (kind == InstructionClass::kJump && Below(4) == 0) target = Function();
    return targets_[address] = target;
  }

  uint64_t IndirectTarget(uint64_t address, InstructionClass kind) {
    const bool rare = Below(16) == 0;
    if (address >= kStubs) return rare ? address + 4 : address - kStubs;
    if (kind == InstructionClass::kIndirectCall) return Function() + (rare ? kStubs : 0);
    return rare ? Function() + 4 * Below(2) : (address & ~uint64_t{0xff}) + 4 * Below(48);
  }

  uint64_t ReturnTarget() {
    if (stack_.empty() || Below(200) == 0) return Function() + 4 * Below(48);
    const uint64_t target = stack_.back();
    stack_.pop_back();
    return target;
  }

  BlockStep Step() {
    using enum InstructionClass;
    const uint32_t number = NumberOf(at_);
    const InstructionClass kind = table_[number].last;
    const uint64_t after = at_ + 4;
    const bool taken = kind != kOther && (kind != kConditional || Below(2) == 0);
    uint64_t next = after;
    if (kind == kReturn)
      next = ReturnTarget();
    else if (kind == kIndirectCall || kind == kIndirectJump)
      next = IndirectTarget(at_, kind);
    else if (taken)
      next = FixedTarget(at_, kind);
    if ((kind == kCall || kind == kIndirectCall) && stack_.size() < 64) stack_.push_back(after);
    at_ = next;
    return BlockStep::Of(number, taken);
  }

  static constexpr std::array<uint8_t, 1> kLengths = {4};
  std::mt19937 random_;
  AddressSpace space_;
  BlockTable table_{space_, CodeMode::kX86_64};
  std::map<uint64_t, uint32_t> numbers_;
  std::map<uint64_t, uint64_t> targets_;
  std::vector<uint64_t> stack_;
  uint64_t at_ = 0x1000;
};

TEST(UsualCalls, ManyBlocksMakeTheCallsOfEachAlone) {
  size_t calls = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    RandomCode code(seed);
    Sixteen functions;
    Told together;
    Told alone;
    CallStack many(functions, together);
    CallStack each(functions, alone);
    for (uint64_t tsc = 1; tsc <= 60; ++tsc) {
      const std::vector<BlockStep> steps = code.Walk(1 + tsc * 7 % 97);
      BlockBatch batch;
      batch.steps = steps;
      batch.table = &code.table();
      batch.next = code.at();
      batch.tsc = tsc;
      many.OnBlocks(batch);
      for (BlockRuns runs(batch); runs.Next();) each.OnBlock(runs.run());
    }
    many.Finish();
    each.Finish();
    ASSERT_EQ(together.all, alone.all) << seed;
    calls += alone.all.size();
  }
  EXPECT_GT(calls, 10'000U);
}

}  // namespace
}  // namespace flowback
