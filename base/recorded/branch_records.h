// SPDX-License-Identifier: MIT
// Branch stacks as a stream has them, whichever hardware and recorder they come from: one record
// behind the other, all of one size, in program order.
//
//   sample 1                     sample 2
//   |oldest|......|newest|       |oldest|......|newest|
//    ^ begins_stack       ^ ends_stack
//
// For those who read such recordings, and for the source that decodes them; nobody else asks
// (TraceConfig).
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/linux/kernel_address.h"
#include "base/recorded/call_samples.h"
#include "flowback/base/bytes.h"
#include "flowback/model/code_mode.h"
#include "flowback/model/execution.h"
#include "flowback/model/machine.h"

namespace flowback {

// Recording::source of such a recording, in decode/sources.def.
inline constexpr std::string_view kBranchStacks = "branch_stack";

// What hardware or its driver calls the branch. One row of branch_kinds.def each.
enum class BranchKind : uint8_t {
#define FLOWBACK_BRANCH_KIND(name, text, meaning) name,
#include "base/recorded/branch_kinds.def"
#undef FLOWBACK_BRANCH_KIND
};
// As perf prints it; empty where the hardware does not say.
constexpr const char* Name(BranchKind kind) {
  switch (kind) {
#define FLOWBACK_BRANCH_KIND(name, text, meaning) \
  case BranchKind::name:                          \
    return text;
#include "base/recorded/branch_kinds.def"
#undef FLOWBACK_BRANCH_KIND
  }
  return "";
}

// One entry of a branch stack.
struct BranchRecord {
  enum class Path : uint8_t { kNotTold, kWrong, kRight, kRightSpeculative };
  enum class Level : uint8_t { kNotTold, kUser, kKernel, kHypervisor };

  uint64_t from = 0;      // of the branch; 0: not recorded (hidden by the recording's levels)
  uint64_t to = 0;        // where it led; 0: not recorded
  uint64_t time = 0;      // of the sample, in ticks of Recording::time; 0: not recorded
  uint64_t ip = 0;        // of the sample; 0: not recorded
  uint64_t counters = 0;  // of events since the branch before it, as the recorder has them
  uint32_t cycles = 0;    // BranchFacts::cycles
  BranchFacts::Cycles cycles_told = BranchFacts::Cycles::kNotTold;
  BranchFacts::Prediction prediction = BranchFacts::Prediction::kNotTold;
  BranchKind kind{};
  Path path = Path::kNotTold;
  Level level = Level::kNotTold;
  bool in_transaction = false;
  bool aborted = false;       // no branch: a transaction was aborted at `from`
  bool begins_stack = false;  // what executed before it is not known
  bool ends_stack = false;
  bool time_is_order = false;  // `time` gives only the order of stacks and mappings
  // The branch executed and was not taken: control went on behind it. `to` is then its target, or
  // where control went on, or 0.
  bool not_taken = false;
  uint8_t unused[1] = {};

  // Where the branch led; 0: that is not recorded, or only the code says so (not_taken).
  uint64_t led_to() const { return not_taken ? 0 : to; }
  // `time`, as far as it is one.
  uint64_t told_time() const { return time_is_order ? 0 : time; }
  // A slot that the hardware had not filled.
  bool empty() const { return from == 0 && to == 0; }
  // It did not execute: the processor guessed wrong, and took it back.
  bool on_wrong_path() const { return path == Path::kWrong; }
  BranchFacts facts() const {
    return {.cycles = cycles, .cycles_told = cycles_told, .prediction = prediction};
  }
};
static_assert(sizeof(BranchRecord) == 56);

inline constexpr uint64_t kBranchRecordSize = sizeof(BranchRecord);

// REQUIRES: a whole record lies at `offset`.
inline BranchRecord BranchRecordAt(Bytes stream, uint64_t offset) {
  BranchRecord record;
  std::memcpy(&record, stream.data() + offset, kBranchRecordSize);
  return record;
}

// What such a recording says about how it was made.
struct BranchStackConfig {
  // Every branch that was taken has a record; so code between two records ran straight. False where
  // only some kinds were asked for.
  bool all_kinds = true;
  // The records are the calls that had not returned (`--call-graph lbr`), not the last branches.
  bool call_stacks = false;
  // Each stack goes on where the one of the same thread before it ended.
  bool tiled = false;
  // A conditional branch may be recorded at the compare before it, with which the processor fused
  // it.
  bool names_compare = false;
  bool readable_code = true;  // the machine's code is of an instruction set that can be read
  // Mode of code that is in no file, or in one without a mode.
  CodeMode mode = CodeMode::kX86_64;
  uint64_t samples = 0;  // with a branch stack, if an empty one
  uint64_t empty_samples = 0;
  uint64_t depth = 0;  // of the longest stack
  TracedLevels levels;
  // Samples with calls, with or without branches. Null: no sample has calls.
  std::shared_ptr<const CallSamples> calls;
};

inline const BranchStackConfig& BranchStackConfigOf(const TraceConfig& config) {
  static const BranchStackConfig unknown;
  const auto* stacks = config.As<BranchStackConfig>();
  return stacks != nullptr ? *stacks : unknown;
}

}  // namespace flowback
