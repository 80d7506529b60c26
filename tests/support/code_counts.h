// SPDX-License-Identifier: MIT
// How often each instruction and each end of a branch was executed, by a decoder's counts and by
// the flow itself. Blocks are cut in different ways; these two are the same.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "flowback/decode/decoder.h"
#include "flowback/model/block_counts.h"

namespace flowback {

struct CodeCounts {
  // All of a stay, an address space and a mode.
  using Where = std::tuple<const ThreadStay*, const AddressSpace*, CodeMode>;
  using At = std::pair<Where, uint64_t>;  // address
  std::map<At, uint64_t> instructions;
  std::map<std::pair<At, BlockExit>, uint64_t> branches;  // by the branch's address
  std::map<std::pair<At, uint64_t>, uint64_t> targets;    // of calls and indirect jumps

  void Add(const Where& where, uint64_t address, std::span<const uint8_t> lengths,
           InstructionClass last, BlockExit exit, uint64_t times) {
    At at{where, address};
    for (const uint8_t length : lengths) {
      instructions[at] += times;
      at.second += length;
    }
    at.second -= lengths.back();
    if (last != InstructionClass::kOther) branches[{at, exit}] += times;
  }
  uint64_t sum() const {
    uint64_t sum = 0;
    for (const auto& [at, times] : instructions) sum += times;
    return sum;
  }
  bool operator==(const CodeCounts&) const = default;
};

// The result of Decoder::Count.
class CountedCode final : public BlockCountConsumer {
 public:
  void OnCounts(const ThreadStay* stay, const BlockCounts& counts) override {
    const CodeCounts::Where where{stay, counts.space, counts.mode};
    for (const BlockUse& use : counts.uses)
      counts_.Add(where, use.block.address, {use.block.lengths, use.count},
                  use.count == use.block.count ? use.block.last : InstructionClass::kOther,
                  use.exit, use.times);
    for (const BlockTarget& target : counts.targets)
      counts_.targets[{{where, target.branch}, target.target}] += target.times;
  }
  const CodeCounts& counts() const { return counts_; }

 private:
  CodeCounts counts_;
};

// The same from every block run of the flow.
class CountedFlow final : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override {
    const CodeCounts::Where where{run.stay, run.space, run.mode};
    counts_.Add(where, run.address, run.lengths, run.last, run.exit, 1);
    const bool left = run.exit == BlockExit::kTaken || run.exit == BlockExit::kStopped;
    if (left && HasTarget(run.last) && run.next != 0)
      ++counts_.targets[{{where, run.LastAddress()}, run.next}];
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}
  const CodeCounts& counts() const { return counts_; }

 private:
  CodeCounts counts_;
};

}  // namespace flowback
