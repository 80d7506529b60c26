// SPDX-License-Identifier: MIT
// A stream's records and the code become flow.
//
// Each record is decoded, padding or lost, as a whole, and together with the code that leads to it
// from the record before. What is certain at any place follows from the records around it alone, so
// a state is where it stands:
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
#include <string>
#include <vector>

#include "decode/branch_stack/straight_line.h"
#include "decode/flow/code_view.h"
#include "flowback/decode/decoder.h"
#include "flowback/decode/flow_reader.h"
#include "flowback/model/branch_records.h"

namespace flowback::branch_stack {

class StackFlow final : public FlowReader {
 public:
  // All must outlive it. REQUIRES: input.code has an epoch.
  StackFlow(const DecodeInput& input, flow::GraphCache& graphs);

  void ReadTo(uint64_t offset, ExecutionConsumer& consumer) override;
  uint64_t offset() const override { return at_; }
  bool at_end() const override { return at_ + kBranchRecordSize > input_.bytes.size(); }
  size_t waiting() const override { return 0; }
  std::shared_ptr<const State> Save() override;
  void Return(const State& state) override;
  std::vector<uint8_t> ToBytes(const State& state) const override;
  std::shared_ptr<const State> FromBytes(Bytes bytes) override;

  // Of what has been read, in records. REQUIRES: all of it was read once.
  const ByteAccount& account() const { return account_; }

 private:
  struct Kept;
  // Where control stood, between two records of a stack.
  struct Place {
    bool certain = false;  // else the stack begins here
    uint64_t ip = 0;       // 0: at a place that was not recorded
  };

  void Tell(ExecutionConsumer& consumer);
  void PassCompare(const BranchRecord& record);
  void Follow(const BranchRecord& record, const Place& place, ExecutionConsumer& consumer);
  void Resume(const BranchRecord& record, const Place& place, ExecutionConsumer& consumer);
  void TellBranch(const BranchRecord& record, ExecutionConsumer& consumer);
  void TellInterrupt(const BranchRecord& record, ExecutionConsumer& consumer);
  void TellPassed(const BranchRecord& record, ExecutionConsumer& consumer);
  void TellUnknown(uint64_t from, uint64_t to, const BranchRecord& record,
                   ExecutionConsumer& consumer);
  void TellEvent(EventKind kind, uint64_t ip, uint64_t target, const BranchRecord& record,
                 ExecutionConsumer& consumer);
  void Lose(LossCause cause, const std::string& why, const BranchRecord& record, const Place& place,
            ExecutionConsumer& consumer);
  void LoseForTheCode(const BranchRecord& record, const Place& place, ExecutionConsumer& consumer);

  BranchRecord At(uint64_t offset) const { return BranchRecordAt(input_.bytes, offset); }
  // The last record before `offset` that tells of something; its offset.
  std::optional<uint64_t> LastBefore(uint64_t offset) const;
  Place PlaceBefore(uint64_t offset) const;
  bool IsToldTwice(const BranchRecord& record) const;
  bool IsHidden(uint64_t address) const;
  void UseCodeOf(const BranchRecord& record);
  flow::BlockGraph& GraphAt(uint64_t address);
  BlockRun RunOf(const CodeBlock& block, const BranchRecord& record) const;

  const DecodeInput& input_;
  const BranchStackConfig config_;
  flow::GraphCache& graphs_;
  uint64_t at_;
  const ThreadStay* stay_ = nullptr;  // who ran at `at_`
  std::optional<flow::CodeView> code_;
  flow::BlockGraph* graph_ = nullptr;  // of the record in work
  StraightLine line_;
  ByteAccount account_;
};

}  // namespace flowback::branch_stack
