// SPDX-License-Identifier: MIT
// Decides for each step of a flow whether CallStack handles it in a usual way, and in which.
//
// It is asked while an index is made, step by step as paths through the code are first met. Steps
// that it cannot judge without the stack count as unusual.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "decode/call_change.h"
#include "decode/instruction/stack_use.h"
#include "flowback/model/block_batch.h"
#include "flowback/replay/functions.h"
#include "replay/calls/shadow_stack/block_uses.h"

namespace flowback {

// Belongs to one thread.
class StackJudge final : public CallJudge {
 public:
  // The functions must outlive it.
  explicit StackJudge(FunctionFinder& functions) : functions_(functions) {}

  StepMeaning Of(const BlockTable& table, BlockStep step, uint64_t next) override;
  std::span<const StepMeaning> Known(const BlockTable& table) override { return Of(table).known; }
  bool IsUsual(const BlockRun& run) override;

 private:
  // Where an indirect branch led the last time, and what that meant.
  struct Last {
    uint64_t next = 0;
    StepMeaning meaning{};
  };
  struct Table {
    std::vector<StepMeaning> known;           // by step; kUnknown: it was not asked for
    std::unordered_map<uint32_t, Last> last;  // by step, of indirect branches
  };

  Table& Of(const BlockTable& table);
  StepMeaning Judge(const BlockTable& table, const CodeBlock& block, bool taken, uint64_t next);
  bool IsUnusual(const BlockRun& run, StackUse use);
  bool TakesOwnPlace(const BlockRun& run);
  StepMeaning JudgeJump(const AddressSpace* space, const CodeBlock& block, uint64_t next);
  StepMeaning JudgeCall(const AddressSpace* space, const CodeBlock& block, uint64_t next);

  FunctionFinder& functions_;
  BlockUses uses_;
  std::unordered_map<const BlockTable*, Table> tables_;
  const BlockTable* table_ = nullptr;  // the last one asked about
  Table* of_table_ = nullptr;
};

}  // namespace flowback
