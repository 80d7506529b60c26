// SPDX-License-Identifier: MIT
// Goes back and forth over a path's steps until they prove no more.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replay/values/memory_cells.h"
#include "replay/values/value_graph.h"
#include "replay/values/value_history.h"
#include "replay/values/value_operations.h"

namespace flowback::values {

class ValueSolver {
 public:
  // Both must outlive it.
  ValueSolver(const ValueGraph& graph, const Surroundings& surroundings);

  // What contradicts itself ends it: see contradiction().
  void Solve();

  const std::vector<KnownBits>& values() const { return values_; }
  const MemoryCells& cells() const { return cells_; }
  Proof ProofOf(ValueId value) const { return proofs_[value]; }
  std::optional<size_t> contradiction() const { return contradiction_; }

 private:
  void LearnStates();
  void Sweep(uint32_t step);
  void Learn(ValueId value, const KnownBits& bits);
  void LearnSlice(const ValueSlice& slice, const KnownBits& bits);
  void LearnResult(const GraphStep& step, const KnownBits& bits);
  KnownBits ResultOf(const GraphStep& step) const { return BitsOf(step.to, values_); }
  void Merge(const GraphStep& step);
  void Compute(const GraphStep& step);
  void Address(const GraphStep& step);
  void Transfer(uint32_t number, const ValueSlice& slice, bool is_load);
  void Outcome(const GraphStep& step);
  void KeepBase(const GraphStep& step);
  void Contradict() {
    if (!contradiction_) contradiction_ = instruction_;
  }

  const ValueGraph& graph_;
  const Surroundings& surroundings_;
  std::vector<KnownBits> values_;
  std::vector<Proof> proofs_;
  MemoryCells cells_;
  std::optional<size_t> contradiction_;
  size_t instruction_ = 0;  // whose steps are looked at
  ProofKind direction_ = ProofKind::kState;
  bool gained_ = false;
};

}  // namespace flowback::values
