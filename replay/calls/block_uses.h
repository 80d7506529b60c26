// SPDX-License-Identifier: MIT
// What each block does to the stack, looked at when it is first executed.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "decode/instruction/stack_use.h"
#include "flowback/model/block_batch.h"
#include "flowback/model/execution.h"

namespace flowback {

class BlockUses {
 public:
  StackUse Of(const BlockRun& run);
  // Those of the table's blocks by number; where the flags are kNotLooked, Look must be asked.
  // Valid until the next call.
  static constexpr uint8_t kNotLooked = 0xff;
  StackUse* OfTable(const BlockTable& table);
  static StackUse Look(const BlockTable& table, const CodeBlock& block);

 private:
  struct Answer {
    const AddressSpace* space = nullptr;
    uint64_t address = 0;
    size_t count = 0;
    StackUse use;
  };
  static constexpr size_t kAnswers = 4096;

  std::unordered_map<const BlockTable*, std::vector<StackUse>> tables_;
  const BlockTable* table_ = nullptr;  // the last one asked for
  std::vector<StackUse>* uses_ = nullptr;
  std::vector<Answer> answers_;
};

}  // namespace flowback
