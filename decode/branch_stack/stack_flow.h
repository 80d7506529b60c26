// SPDX-License-Identifier: MIT
// A stream's records and the code become flow.
//
// Each record is decoded, padding or lost, as a whole, and together with the code that leads to it
// from the record before. The certain facts at any place follow from the records around it alone,
// so the state is the position:
//
//   begins a stack              unknown between, then the branch itself
//   source not recorded         the flow begins at its target
//   target not recorded         the flow ends at its source
//   code contradicts it         a loss; the flow goes on at its target, which the next one checks
//   empty, or on a wrong path   padding: nothing executed
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/recorded/branch_records.h"
#include "decode/branch_stack/line_memo.h"
#include "decode/branch_stack/line_totals.h"
#include "decode/branch_stack/stack_records.h"
#include "decode/branch_stack/straight_line.h"
#include "decode/flow/code_view.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/flow_reader.h"

namespace flowback::branch_stack {

// What a decoder has learned of the code.
struct LearnedCode {
  flow::GraphCache graphs;
  LineMemo lines;
};

class StackFlow final : public FlowReader {
 public:
  // All must outlive it. REQUIRES: input.code has an epoch.
  StackFlow(const DecodeInput& input, LearnedCode& learned);
  // Known lines go to `totals` as such, which is also the consumer of the rest. REQUIRES: the input
  // asks for blocks.
  void TellLinesTo(LineTotals& totals) { totals_ = &totals; }

  void ReadTo(uint64_t offset, ExecutionConsumer& consumer) override;
  uint64_t offset() const override { return at_; }
  bool at_end() const override { return at_ + kBranchRecordSize > input_.bytes.size(); }
  size_t waiting() const override { return 0; }
  std::shared_ptr<const State> Save() override;
  void Return(const State& state) override;
  std::vector<uint8_t> ToBytes(const State& state) const override;
  std::shared_ptr<const State> FromBytes(Bytes bytes) override;

  // The account of the records read so far. REQUIRES: all of it was read once.
  const ByteAccount& account() const { return account_; }

 private:
  struct Kept;
  // Where control stood, between two records of a stack.
  struct Place {
    bool certain = false;  // else the stack begins here
    uint64_t ip = 0;       // 0: at a place that was not recorded
    bool passed = false;   // `ip` is a branch that was not taken: control went on behind it
  };

  // The last certain place, in any stack.
  struct Last {
    bool known = false;
    uint64_t to = 0;
    uint64_t time = 0;
  };

  [[gnu::always_inline]] void Tell(ExecutionConsumer& consumer);
  [[gnu::always_inline]] void TellRecord(const BranchRecord& record, ExecutionConsumer& consumer);
  void PassCompare(const BranchRecord& record);
  [[gnu::always_inline]] void Follow(const BranchRecord& record, ExecutionConsumer& consumer);
  void Walk(const BranchRecord& record, const LineMemo::Key& key, ExecutionConsumer& consumer);
  // Follows a record whose branch was not taken.
  void FollowPassed(const BranchRecord& record, ExecutionConsumer& consumer);
  void TellPassedBranch(const BranchRecord& record, ExecutionConsumer& consumer);
  std::optional<LossCause> ContradictionOf(const BranchRecord& passed) const;
  static Place PlaceAfter(const BranchRecord& record, bool certain);
  uint64_t BehindBranch(uint64_t address);
  void Resume(const BranchRecord& record, ExecutionConsumer& consumer);
  [[gnu::always_inline]] void TellKnown(const KnownLine& known, const BranchRecord& record,
                                        ExecutionConsumer& consumer);
  [[gnu::always_inline]] void TellLine(std::span<const uint32_t> passed, uint32_t node,
                                       uint32_t number, const BranchRecord& record,
                                       ExecutionConsumer& consumer);
  // Hands on waiting branches, with DecodeInput::only_branches.
  void TellBranches(ExecutionConsumer& consumer);
  void TellTaken(uint32_t node, const BranchRecord& record, ExecutionConsumer& consumer);
  void TellArrival(const BranchRecord& record, ExecutionConsumer& consumer);
  void TellInterrupt(const BranchRecord& record, ExecutionConsumer& consumer);
  void TellPassed(std::span<const uint32_t> passed, const BranchRecord& record,
                  ExecutionConsumer& consumer);
  void TellUnknown(uint64_t from, uint64_t to, uint64_t since, const BranchRecord& record,
                   ExecutionConsumer& consumer);
  void TellEvent(EventKind kind, uint64_t ip, uint64_t target, const BranchRecord& record,
                 ExecutionConsumer& consumer);
  // `where`: the place in the code that contradicts the record.
  void Lose(LossCause cause, std::optional<uint64_t> where, const BranchRecord& record,
            ExecutionConsumer& consumer);
  void LoseForTheCode(const BranchRecord& record, ExecutionConsumer& consumer);

  void FindPlace();
  bool IsToldTwice(const BranchRecord& record);
  [[gnu::always_inline]] bool IsHidden(uint64_t address) const;
  void UseCodeOf(const BranchRecord& record);
  flow::BlockGraph& GraphAt(uint64_t address);
  BlockRun RunOf(const CodeBlock& block, const BranchRecord& record) const;
  void NoteProgress(uint64_t since) const {
    if (input_.progress != nullptr) *input_.progress += at_ - since;
  }

  const DecodeInput& input_;
  const BranchStackConfig config_;
  LearnedCode& learned_;
  StackRecords records_;
  uint64_t at_;
  Place place_;  // ahead of the record at `at_`
  Last last_;
  std::optional<flow::CodeView> code_;
  // Code of the current stack; valid up to `next_change_`, for records of that time.
  bool code_is_known_ = false;
  uint64_t code_time_ = 0;
  uint64_t next_change_ = 0;
  uint32_t code_number_ = 0;
  const ThreadStay* stay_ = nullptr;
  flow::BlockGraph* graph_ = nullptr;  // of the record in work
  StraightLine line_;
  LineTotals* totals_ = nullptr;
  std::vector<TakenBranch> branches_;  // of one stack and time
  uint64_t branches_tsc_ = 0;
  ByteAccount account_;
};

}  // namespace flowback::branch_stack
