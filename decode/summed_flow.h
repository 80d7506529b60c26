// SPDX-License-Identifier: MIT
// Totals of a stream whose whole flow is delivered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowback/decode/decoder.h"

namespace flowback {

// Parts have no offsets: pieces of flow do not have them.
class SummedFlow : public ExecutionConsumer {
 public:
  void OnBlock(const BlockRun& run) override { Add(run); }
  void OnEvent(const TraceEvent& event) override { Note(event.tsc); }
  void OnLoss(const DataLoss& loss) override;

  FlowSummary Take(const ByteAccount& account);

 protected:
  void Add(const BlockRun& run);

  // What several blocks add that executed one behind the other.
  struct Line {
    uint64_t hash = 0;   // of their digest
    uint64_t power = 1;  // FlowDigest::Power(count)
    uint32_t count = 0;  // instructions
    uint32_t not_taken = 0;
    InstructionClass last{};  // of the branch that ends it, which was taken
  };
  void Add(const Line& line, uint64_t tsc, const ThreadStay* stay) {
    if (stay != stay_) Enter(stay);
    summary_.digest.hash = summary_.digest.hash * line.power + line.hash;
    summary_.digest.count += line.count;
    summary_.blocks += line.not_taken + 1;
    summary_.not_taken += line.not_taken;
    ++left_by_[static_cast<size_t>(line.last)];
    Note(tsc);
  }

 private:
  void Enter(const ThreadStay* stay);
  void EndPart();
  void Note(uint64_t tsc) {
    if (tsc == 0) return;
    if (summary_.first_tsc == 0) summary_.first_tsc = tsc;
    summary_.last_tsc = tsc;
  }

  FlowTotals summary_;  // of the part at hand
  // Counts that `summary_` does not have yet: blocks that ended in a taken branch of each class.
  std::array<uint64_t, static_cast<size_t>(InstructionClass::kFarReturn) + 1> left_by_{};
  const ThreadStay* stay_ = nullptr;
  std::vector<FlowPart> parts_;
};

}  // namespace flowback
