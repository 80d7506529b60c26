// SPDX-License-Identifier: MIT
// Follows a value back through the instructions that gave it.
#pragma once

#include <cstdint>

#include "replay/values/memory_cells.h"
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
  // Where the chain goes on: a part of a value, or nowhere. `keeps_old`: the step gave only some of
  // the bits that are asked for.
  ValueSlice AddLink(const ValueSlice& wanted, ValueChain& chain) const;
  ValueSlice AddLoad(uint32_t number, bool keeps_old, ValueChain& chain) const;
  ValueSlice AddStore(uint32_t cell, ValueChain& chain) const;
  ValueSlice AddComputation(const GraphStep& step, bool keeps_old, ValueChain& chain) const;
  bool ComeFromOne(const MemoryCells::Bytes& bytes, unsigned size) const;
  void Follow(ValueSlice slice, ValueChain& chain) const;
  void Put(const GraphStep& step, ChainLink::Kind kind, const ValueSlice& slice,
           ValueChain& chain) const;

  const ValueGraph& graph_;
  const ValueSolver& solver_;
};

}  // namespace flowback::values
