// SPDX-License-Identifier: MIT
// What the code says of a record: whether there is such a branch, and whether it is one.
#pragma once

#include <cstdint>

#include "base/recorded/branch_records.h"
#include "decode/branch_stack/straight_line.h"
#include "decode/flow/block_graph.h"
#include "flowback/model/execution.h"

namespace flowback::branch_stack {

enum class Verdict : uint8_t {
  kBranch,       // the instruction at the source executed, and led to the target
  kInterrupted,  // it did not: something asynchronous happened ahead of it
  kContradicts,
};

struct Judgement {
  Verdict verdict = Verdict::kBranch;
  LossCause cause{};  // kContradicts: why
};

// Whether the instruction at the record's source, of any kind, did not execute.
bool IsAsynchronous(const BranchRecord& record);
// REQUIRES: `line` leads to the record's source.
Judgement Judge(const BranchRecord& record, const flow::BlockGraph& graph,
                const StraightLine& line);

}  // namespace flowback::branch_stack
