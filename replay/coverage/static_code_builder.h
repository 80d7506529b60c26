// SPDX-License-Identifier: MIT
// Makes StaticCode of what control flow was seen to reach.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "flowback/replay/object_image.h"
#include "flowback/replay/static_code.h"
#include "replay/coverage/code_flow.h"
#include "replay/coverage/code_outline.h"

namespace flowback {

class StaticCodeBuilder {
 public:
  // `image` must outlive it.
  StaticCodeBuilder(const ObjectImage& image, CodeOutline outline);

  StaticCode Build(std::span<const uint64_t> executed);

 private:
  void FollowTables();
  void AddFunction(StaticFunction function);
  void AddInstructions(const StaticFunction& function);
  uint64_t PaddingBehind(const StaticInstruction& call, uint64_t end) const;
  bool HasExecuted(uint64_t address) const;
  void AddBlocks(size_t first);
  // Sorts the bytes of the function that no instruction has.
  void CountRest(StaticFunction& function, size_t first) const;
  void CountUnreached(StaticFunction& function, uint64_t begin, uint64_t end) const;
  void FindWholes(const std::vector<uint32_t>& numbers);

  std::span<const uint64_t> executed_;  // sorted
  CodeOutline outline_;
  CodeFlow flow_;
  std::unordered_set<uint64_t> resolved_;  // indirect jumps
  std::vector<uint64_t> unresolved_;       // addresses, sorted
  StaticCode code_;
};

}  // namespace flowback
