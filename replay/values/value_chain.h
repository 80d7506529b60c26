// SPDX-License-Identifier: MIT
// Follows a value back through the instructions that gave it.
#pragma once

#include <cstdint>

#include "replay/values/value_graph.h"
#include "replay/values/value_history.h"
#include "replay/values/value_solver.h"

namespace flowback::values {

// Both must outlive it.
class ChainFinder {
 public:
  ChainFinder(const ValueGraph& graph, const ValueSolver& solver)
      : graph_(graph), solver_(solver) {}

  ValueChain OfValue(ValueId value) const;
  ValueChain OfMemory(size_t point, uint64_t address) const;

 private:
  // Where the chain goes on: a value, or nowhere.
  ValueId AddLink(ValueId value, ValueChain& chain) const;
  ValueId AddLoad(uint32_t number, ValueChain& chain) const;
  ValueId AddStore(uint32_t cell, ValueChain& chain) const;
  ValueId AddComputation(const GraphStep& step, ValueChain& chain) const;
  void Follow(ValueId value, ValueChain& chain) const;
  void Put(const GraphStep& step, ChainLink::Kind kind, const ValueSlice& slice,
           ValueChain& chain) const;

  const ValueGraph& graph_;
  const ValueSolver& solver_;
};

}  // namespace flowback::values
