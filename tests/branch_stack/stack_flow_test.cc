// SPDX-License-Identifier: MIT
// What records and code become: flow where they agree, a loss with its reason where they do not.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "tests/branch_stack/stacks.h"
#include "tests/support/segments.h"

namespace flowback::testing {
namespace {

TEST_F(Stacks, CodeBetweenTwoRecordsRanStraight) {
  Add({Branch(0x1003, 0x1000), Branch(0x1006, 0x1010), Branch(0x1010, 0x1020),
       Branch(0x1021, 0x1025), Branch(0x1025, 0x1015)});
  EXPECT_EQ(Flow(),
            "0x1003..0x1003 taken to 0x1000\n"
            "0x1000..0x1003 not taken, on to 0x1005\n"
            "0x1005..0x1006 taken to 0x1010\n"
            "0x1010..0x1010 taken to 0x1020\n"
            "0x1020..0x1021 taken to 0x1025\n"
            "0x1025..0x1025 taken to 0x1015\n");
  ExpectAccount(5, 0, 0);
}

TEST_F(Stacks, BetweenTwoSamplesIsUnknownAndNoLoss) {
  Add({Branch(0x1003, 0x1000)});
  Add({Branch(0x1006, 0x1010)});
  EXPECT_EQ(Flow(),
            "0x1003..0x1003 taken to 0x1000\n"
            "unknown 0x1000 0x1006\n"
            "0x1006..0x1006 taken to 0x1010\n");
  ExpectAccount(2, 0, 0);
}

TEST_F(Stacks, TiledOnesGoOn) {
  config_.tiled = true;
  Add({Branch(0x1003, 0x1000), Branch(0x1003, 0x1000)});
  Add({Branch(0x1006, 0x1010)});
  records_[2].begins_stack = false;
  EXPECT_EQ(Flow(),
            "0x1003..0x1003 taken to 0x1000\n"
            "0x1000..0x1003 taken to 0x1000\n"
            "0x1000..0x1003 not taken, on to 0x1005\n"
            "0x1005..0x1006 taken to 0x1010\n");
}

TEST_F(Stacks, EachContradictionIsALossWithItsReason) {
  const struct {
    BranchRecord second;
    LossCause cause;
  } cases[] = {
      {Branch(0x1005, 0x1010), LossCause::kNoBranchThere},
      {Branch(0x1001, 0x1010), LossCause::kNoBranchThere},  // inside an instruction
      {Branch(0x1003, 0x1010), LossCause::kOtherTarget},
      {Branch(0x1006, 0x1012), LossCause::kOtherTarget},
      {Branch(0x1006, 0x1010, BranchKind::kConditional), LossCause::kOtherKind},
      {Branch(0x1006, 0x1010, BranchKind::kReturn), LossCause::kOtherKind},
      {Branch(0x1010, 0x1020), LossCause::kNotStraight},  // the jump at 1006 is always taken
      {Branch(0x5000, 0x1000), LossCause::kNotStraight},
      {Branch(0x0800, 0x1000), LossCause::kNotStraight},
  };
  for (const auto& [second, cause] : cases) {
    SCOPED_TRACE(Hex(second.from) + " to " + Hex(second.to));
    records_.clear();
    Add({Branch(0x1003, 0x1000), second, Branch(second.to == 0x1000 ? 0x1003 : 0x1015, 0x1000)});
    records_[2].from = second.to == 0x1000 ? 0x1003 : 0x1010;
    records_[2].to = second.to == 0x1000 ? 0x1000 : 0x1020;
    std::vector<LossCause> causes;
    ForEachItem(FlowOf(*decoder_, Input()),
                [&](const DataLoss& loss) { causes.push_back(loss.cause); });
    ASSERT_FALSE(causes.empty());
    EXPECT_EQ(Name(causes[0]), Name(cause));
  }
}

// Some hardware names the compare that was fused with a branch.
TEST_F(Stacks, ACompareStandsForTheBranchBehindItWhereTheUnitSaysSo) {
  Add({Branch(0x1003, 0x1000), Branch(0x1000, 0x1000), Branch(0x1006, 0x1010)});
  EXPECT_EQ(Flow(),
            "0x1003..0x1003 taken to 0x1000\n"
            "lost: a record has a branch where the code has none\n"
            "0x1000..0x1003 not taken, on to 0x1005\n"
            "0x1005..0x1006 taken to 0x1010\n");
  config_.names_compare = true;
  EXPECT_EQ(Flow(),
            "0x1003..0x1003 taken to 0x1000\n"
            "0x1000..0x1003 taken to 0x1000\n"
            "0x1000..0x1003 not taken, on to 0x1005\n"
            "0x1005..0x1006 taken to 0x1010\n");
  ExpectAccount(3, 0, 0);
  // Neither a branch to elsewhere nor one that always jumps.
  for (const BranchRecord& other : {Branch(0x1000, 0x1010), Branch(0x1005, 0x1010)}) {
    records_.clear();
    Add({Branch(0x1003, 0x1000), other, Branch(0x1010, 0x1020)});
    ExpectAccount(2, 0, 1);
  }
}

// The flow goes on at its target, which the next record confirms.
TEST_F(Stacks, ALossIsOneRecord) {
  Add({Branch(0x1003, 0x1000), Branch(0x1010, 0x1020), Branch(0x1021, 0x1025)});
  EXPECT_EQ(Flow(),
            "0x1003..0x1003 taken to 0x1000\n"
            "lost: the code between two records is not straight\n"
            "0x1020..0x1021 taken to 0x1025\n");
  ExpectAccount(2, 0, 1);
}

TEST_F(Stacks, KindsThatAgree) {
  Add({Branch(0x1003, 0x1000, BranchKind::kConditional), Branch(0x1006, 0x1010, BranchKind::kJump),
       Branch(0x1010, 0x1020, BranchKind::kCall),
       Branch(0x1023, kKernel, BranchKind::kSystemCall)});
  Add({Branch(0x1025, 0x1015, BranchKind::kReturn),
       Branch(0x1015, 0x1025, BranchKind::kIndirectJump)});
  ExpectAccount(6, 0, 0);
}

// The instruction at the source did not execute.
TEST_F(Stacks, AnInterruptLeavesTheCodeAheadOfItsSource) {
  Add({Branch(0x1003, 0x1000), Branch(0x1003, kKernel)});
  Add({Branch(0x1003, 0x1000), Branch(0x1005, kKernel)});
  Add({Branch(0x1003, 0x1000), Branch(0x1006, 0x1010, BranchKind::kInterrupt)});
  EXPECT_EQ(Flow(),
            "0x1003..0x1003 taken to 0x1000\n"
            "0x1000..0x1000 on to 0x1003\n"
            "interrupted 0x1003 0xffffffff81000000\n"
            "unknown 0xffffffff81000000 0x1003\n"
            "0x1003..0x1003 taken to 0x1000\n"
            "0x1000..0x1003 not taken, on to 0x1005\n"
            "interrupted 0x1005 0xffffffff81000000\n"
            "unknown 0xffffffff81000000 0x1003\n"
            "0x1003..0x1003 taken to 0x1000\n"
            "0x1000..0x1003 not taken, on to 0x1005\n"
            "0x1005..0x1005 on to 0x1006\n"
            "interrupted 0x1006 0x1010\n");
  ExpectAccount(6, 0, 0);
}

TEST_F(Stacks, AnAbortedTransactionIsNoBranch) {
  BranchRecord abort = Branch(0x1005, 0x1010);
  abort.aborted = true;
  Add({Branch(0x1003, 0x1000), abort, Branch(0x1010, 0x1020)});
  EXPECT_EQ(Flow(),
            "0x1003..0x1003 taken to 0x1000\n"
            "0x1000..0x1003 not taken, on to 0x1005\n"
            "tx-abort 0x1005 0x1010\n"
            "0x1010..0x1010 taken to 0x1020\n");
}

// Hardware hides the side of a branch that was not to be recorded.
TEST_F(Stacks, HalfRecords) {
  Add({Branch(0x1003, 0x1000), Branch(0x1006, 0x1010), Branch(0x1010, 0x1020), Branch(0x1023, 0),
       Branch(0, 0x1025), Branch(0x1025, 0x1015), Branch(0x1015, 0)});
  EXPECT_EQ(Flow(),
            "0x1003..0x1003 taken to 0x1000\n"
            "0x1000..0x1003 not taken, on to 0x1005\n"
            "0x1005..0x1006 taken to 0x1010\n"
            "0x1010..0x1010 taken to 0x1020\n"
            "0x1020..0x1021 not taken, on to 0x1023\n"
            "0x1023..0x1023 stops 0x0\n"
            "stopped 0x0 0x0\n"
            "unknown 0x0 0x1025\n"
            "0x1025..0x1025 taken to 0x1015\n"
            "stopped-async 0x1015 0x0\n");
  ExpectAccount(7, 0, 0);
}

// Linux hands out the way back from a kernel that was not to be recorded.
TEST_F(Stacks, SourcesInAHiddenKernelAreNoSources) {
  config_.levels.kernel = false;
  Add({Branch(0x1003, 0x1000), Branch(kKernel, 0x1010), Branch(0x1010, 0x1020)});
  EXPECT_EQ(Flow(),
            "0x1003..0x1003 taken to 0x1000\n"
            "unknown 0x1000 0x1010\n"
            "0x1010..0x1010 taken to 0x1020\n");
  config_.levels.kernel = true;
  ExpectAccount(2, 0, 1);
}

// Whether the record names the branch's target or what follows.
TEST_F(Stacks, BranchesThatWereNotTaken) {
  for (const uint64_t to : {0x1000, 0x1005, 0}) {
    records_.clear();
    BranchRecord passed = Branch(0x1003, to);
    passed.not_taken = true;
    Add({Branch(0x1015, 0x1000), passed, Branch(0x1006, 0x1010)});
    EXPECT_EQ(Flow(),
              "0x1015..0x1015 taken to 0x1000\n"
              "0x1000..0x1003 not taken, on to 0x1005\n"
              "0x1005..0x1006 taken to 0x1010\n")
        << to;
    ExpectAccount(3, 0, 0);
  }
}

TEST_F(Stacks, OnlyAConditionalBranchIsNotTaken) {
  const auto lost = [&](uint64_t from, uint64_t to) {
    records_ = {};
    Add({Branch(from, to)});
    records_.back().not_taken = true;
    return Flow();
  };
  EXPECT_EQ(lost(0x1006, 0x1010), std::string("lost: ") + Name(LossCause::kOtherKind) + '\n');
  EXPECT_EQ(lost(0x1005, 0x1006), std::string("lost: ") + Name(LossCause::kNoBranchThere) + '\n');
  EXPECT_EQ(lost(0x1003, 0x1010), std::string("lost: ") + Name(LossCause::kOtherTarget) + '\n');
}

TEST_F(Stacks, EmptySlotsAndWrongPathsArePadding) {
  BranchRecord wrong = Branch(0x1005, 0x1234);
  wrong.path = BranchRecord::Path::kWrong;
  Add({Branch(0, 0), wrong, Branch(0x1003, 0x1000), wrong, Branch(0x1006, 0x1010)});
  Add({Branch(0, 0), Branch(0x1010, 0x1020)});
  EXPECT_EQ(Flow(),
            "0x1003..0x1003 taken to 0x1000\n"
            "0x1000..0x1003 not taken, on to 0x1005\n"
            "0x1005..0x1006 taken to 0x1010\n"
            "unknown 0x1010 0x1010\n"
            "0x1010..0x1010 taken to 0x1020\n");
  ExpectAccount(3, 4, 0);
}

TEST_F(Stacks, TheNewestToldTwiceIsSaidButALoopIsNot) {
  Add({Branch(0x1003, 0x1000), Branch(0x1006, 0x1010), Branch(0x1006, 0x1010)});
  Add({Branch(0x1003, 0x1000), Branch(0x1003, 0x1000)});
  EXPECT_EQ(Flow(),
            "0x1003..0x1003 taken to 0x1000\n"
            "0x1000..0x1003 not taken, on to 0x1005\n"
            "0x1005..0x1006 taken to 0x1010\n"
            "lost: the newest record was reported twice\n"
            "unknown 0x1010 0x1003\n"
            "0x1003..0x1003 taken to 0x1000\n"
            "0x1000..0x1003 taken to 0x1000\n");
}

// Where only calls were recorded, branches between them may have been taken.
TEST_F(Stacks, OfSomeKindsEachStandsAlone) {
  config_.all_kinds = false;
  Add({Branch(0x1010, 0x1020), Branch(0x1010, 0x1020)});
  EXPECT_EQ(Flow(),
            "0x1010..0x1010 taken to 0x1020\n"
            "unknown 0x1020 0x1010\n"
            "0x1010..0x1010 taken to 0x1020\n");
}

TEST_F(Stacks, WithoutCodeARecordIsALoss) {
  Add({Branch(0x9000, 0x9100), Branch(0x9104, 0x1010), Branch(0x1010, 0x1020)});
  EXPECT_EQ(Flow(),
            "lost: no code image\n"
            "lost: no code image\n"
            "0x1010..0x1010 taken to 0x1020\n");
  config_.readable_code = false;
  ExpectAccount(0, 0, 3);
}

TEST_F(Stacks, FactsAreTheBranchs) {
  BranchRecord record = Branch(0x1006, 0x1010);
  record.cycles = 9;
  record.cycles_told = BranchFacts::Cycles::kExact;
  record.prediction = BranchFacts::Prediction::kWrong;
  Add({Branch(0x1003, 0x1000), record});
  std::vector<BranchFacts> facts;
  ForEachItem(FlowOf(*decoder_, Input()),
              [&](const BlockRun& run) { facts.push_back(run.branch); });
  EXPECT_EQ(facts, (std::vector<BranchFacts>{{}, {}, record.facts()}));
}

// The code of 32-bit images is read as such: 40 is a prefix in 64-bit code, and no instruction.
TEST_F(Stacks, CodeOf32BitImages) {
  static constexpr uint8_t kNarrow[] = {0x40, 0x40, 0xeb, 0xfc};  // inc eax ; inc eax ; jmp
  auto section = std::make_shared<CodeSection>("narrow", 0, Bytes(kNarrow, sizeof kNarrow), nullptr,
                                               Verification::kGiven, CodeMode::kX86_32);
  auto space = std::make_shared<AddressSpace>();
  space->Map({0x8000000, sizeof kNarrow, 0, section});
  history_.epochs[0].space = space;
  Add({Branch(0x8000002, 0x8000000), Branch(0x8000002, 0x8000000)});
  size_t instructions = 0;
  ForEachItem(FlowOf(*decoder_, Input()), [&](const BlockRun& run) {
    instructions += run.lengths.size();
    EXPECT_EQ(run.mode, CodeMode::kX86_32);
  });
  EXPECT_EQ(instructions, 4u);
}

// Random records, most of them wrong: any cut is the whole, and the account holds.
// The same two records lead through other code once that has changed.
TEST_F(Stacks, WhatIsKnownByHeartIsOfItsCode) {
  std::vector<uint8_t> other(kCode, kCode + sizeof kCode);
  other[5] = 0xc3;  // 1005: ret
  auto section = std::make_shared<CodeSection>("other", 0, other, nullptr, Verification::kGiven);
  auto space = std::make_shared<AddressSpace>();
  space->Map({0x1000, sizeof kCode, 0, section});
  history_.epochs.push_back({.time = 105, .instructions = 0, .space = space});
  for (int stack = 0; stack < 4; ++stack) Add({Branch(0x1003, 0x1000), Branch(0x1006, 0x1010)});
  const std::string text = Flow();
  const std::string line = "0x1005..0x1006 taken to 0x1010\n";
  const size_t first = text.find(line);
  ASSERT_NE(first, text.npos);
  EXPECT_NE(text.find(line, first + 1), text.npos);
  EXPECT_EQ(text.find(line, text.find("lost: ")), text.npos) << text;
  ExpectAccount(6, 0, 2);
}

// ... and of its kind: what one kind of branch is, another one is not.
TEST_F(Stacks, WhatIsKnownByHeartIsOfItsKind) {
  Add({Branch(0x1003, 0x1000), Branch(0x1006, 0x1010)});
  Add({Branch(0x1003, 0x1000), Branch(0x1006, 0x1010, BranchKind::kReturn)});
  Add({Branch(0x1003, 0x1000), Branch(0x1006, 0x1010, BranchKind::kJump)});
  ExpectAccount(5, 0, 1);
}

// The delivered items in order: taken branches, and the items between.
class Taken final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    if (run.exit == BlockExit::kTaken)
      Add({.from = run.LastAddress(), .to = run.next, .facts = run.branch}, run.tsc);
  }
  void OnBranches(std::span<const TakenBranch> branches, uint64_t tsc) override {
    EXPECT_FALSE(branches.empty());
    for (const TakenBranch& branch : branches) {
      Add(branch, tsc);
      if (branch.number == TakenBranch::kNoNumber) continue;
      const auto ends = std::pair(branch.from, branch.to);
      EXPECT_EQ(numbers_.emplace(branch.number, ends).first->second, ends);
    }
  }
  void OnEvent(const TraceEvent& event) override {
    text += Hex(event.ip) + Name(event.kind) + '\n';
  }
  void OnLoss(const DataLoss& loss) override { text += loss.detail + '\n'; }
  void OnUnknown(const UnknownFlow& unknown) override {
    text += "unknown " + Hex(unknown.from) + ' ' + Hex(unknown.to) + '\n';
  }

  std::string text;

 private:
  void Add(const TakenBranch& branch, uint64_t tsc) {
    text += Hex(branch.from) + ' ' + Hex(branch.to) + ' ' + std::to_string(branch.facts.cycles) +
            ' ' + std::to_string(tsc) + '\n';
  }

  std::map<uint32_t, std::pair<uint64_t, uint64_t>> numbers_;
};

// The totals of the flow block by block, without the decoder's memo.
Result<FlowSummary> AddedUp(const DecodeInput& input) {
  class Plain final : public Decoder {
   public:
    Result<ByteAccount> Decode(const DecodeInput& of, ExecutionConsumer& consumer) override {
      return branch_stack::NewStackDecoder()->Decode(of, consumer);
    }
  };
  return Plain().Summarize(input);
}

TEST_F(Stacks, BranchesAndTotalsAreThoseOfTheWholeFlow) {
  std::mt19937_64 random(7);
  const uint64_t places[] = {0, 0x1000, 0x1003, 0x1006, 0x1010, 0x1020, 0x1021, 0x1025, kKernel};
  const auto place = [&] { return places[random() % std::size(places)]; };
  for (int round = 0; round < 40; ++round) {
    records_.clear();
    config_.tiled = round % 4 == 0;
    config_.all_kinds = round % 8 != 1;
    for (int stack = 0; stack < 12; ++stack) {
      std::vector<BranchRecord> of;
      for (uint64_t i = 1 + random() % 6; i > 0; --i) {
        of.push_back(Branch(place(), place()));
        of.back().cycles = static_cast<uint32_t>(random() % 3);
      }
      Add({Branch(0x1003, 0x1000), Branch(0x1006, 0x1010)});
      Add(of);
    }
    const Result<FlowSummary> sum = decoder_->Summarize(Input());
    const Result<FlowSummary> added = AddedUp(Input());
    ASSERT_TRUE(sum && added);
    EXPECT_EQ(sum->digest, added->digest);
    const auto counts = [](const FlowTotals& of) {
      return std::tuple(of.blocks, of.taken, of.not_taken, of.jumps, of.indirect_jumps, of.calls,
                        of.indirect_calls, of.returns, of.far, of.bytes_decoded, of.bytes_lost,
                        of.losses.size());
    };
    EXPECT_EQ(counts(*sum), counts(*added));
    Taken whole, alone;
    ASSERT_TRUE(decoder_->Decode(Input(), whole));
    input_.only_branches = true;
    ASSERT_TRUE(decoder_->Decode(Input(), alone));
    input_.only_branches = false;
    EXPECT_EQ(whole.text, alone.text);
    EXPECT_FALSE(alone.text.empty());
  }
}

TEST_F(Stacks, AnyCutIsTheWhole) {
  std::mt19937_64 random(5);
  const uint64_t places[] = {0,      0x1000, 0x1003, 0x1006, 0x1010,
                             0x1015, 0x1020, 0x1021, 0x1025, kKernel};
  const auto place = [&] { return places[random() % std::size(places)]; };
  for (int round = 0; round < 40; ++round) {
    records_.clear();
    config_.tiled = round % 4 == 0;
    config_.all_kinds = round % 8 != 1;
    config_.levels.kernel = round % 2 == 0;
    for (int stack = 0; stack < 6; ++stack) {
      std::vector<BranchRecord> of;
      for (uint64_t i = 1 + random() % 6; i > 0; --i) {
        of.push_back(Branch(place(), place()));
        if (random() % 8 == 0) of.back().path = BranchRecord::Path::kWrong;
        if (random() % 16 == 0) of.back().aborted = true;
        if (random() % 8 == 0) of.back().not_taken = true;
      }
      Add(of);
    }
    for (const uint64_t records : {0, 1, 3, 100}) {
      input_.times = records % 2 == 0;
      const uint64_t size = records * kBranchRecordSize;
      const DecodeInput& input = Input();
      auto reader = decoder_->Read(input);
      ASSERT_TRUE(reader);
      segments::Segments read = segments::ReadInOrder(**reader, size);
      segments::ExpectPlayed(read.segments, *decoder_, input, "in order");
      segments::ReadAgain(**reader, size, random(), read, read.segments.size());
      segments::ExpectPlayed(read.segments, *decoder_, input, "in any order");
      auto listener = decoder_->Read(input);
      segments::ReadTold(**reader, **listener, size, random(), read);
      segments::ExpectPlayed(read.segments, *decoder_, input, "from states in bytes");
    }
    const Result<FlowSummary> sum = decoder_->Summarize(Input());
    EXPECT_EQ(sum->bytes_decoded + sum->bytes_padding + sum->bytes_lost, records_.size());
  }
}

}  // namespace
}  // namespace flowback::testing
