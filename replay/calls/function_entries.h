// SPDX-License-Identifier: MIT
// How often functions were called, from counts of blocks alone.
//
// Each execution of a function's first instruction is a call, however control came there: by a
// call, by another function's jump (a tail call, the stub of a procedure linkage table), from the
// kernel. It is none where control came from the function itself by a jump, which makes a loop, or
// straight from the code ahead of it. So the counts are those that the model of calls
// (call_stack.h) finds in a flow that has no loss.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/mix_bits.h"
#include "flowback/model/block_counts.h"
#include "flowback/replay/functions.h"

namespace flowback {

struct EntryCount {
  uint64_t calls = 0;
  uint64_t call_instructions = 0;  // call instructions that led there
};

// Uses memory in proportion to the code that ran.
class FunctionEntries {
 public:
  using Place = std::pair<const AddressSpace*, uint64_t>;  // address

  // `finder` must outlive it.
  explicit FunctionEntries(FunctionFinder& finder) : finder_(finder) {}
  void Add(const BlockCounts& counts);
  // By the address that was called. The address spaces must still be there.
  std::map<Place, EntryCount> Take();

 private:
  struct Edge {
    const AddressSpace* space = nullptr;
    uint64_t branch = 0;
    uint64_t target = 0;
    bool operator==(const Edge&) const = default;
  };
  struct Hash {
    size_t operator()(const Edge& edge) const {
      const uint64_t mixed =
          MixBits(MixBits(edge.branch) ^ edge.target) ^ reinterpret_cast<uintptr_t>(edge.space);
      return mixed ^ mixed >> 32;
    }
    size_t operator()(const Place& place) const {
      return (*this)(Edge{place.first, place.second, 0});
    }
  };
  template <class Value>
  using ByPlace = std::unordered_map<Place, Value, Hash>;
  template <class Value>
  using ByEdge = std::unordered_map<Edge, Value, Hash>;
  struct Branch {
    CodeMode mode{};
    uint64_t times = 0;
  };

  bool IsEntry(const Place& place);
  void LeaveOutLoops(std::map<Place, EntryCount>& entries);
  void AddCalls(std::map<Place, EntryCount>& entries);

  FunctionFinder& finder_;
  ByPlace<uint64_t> begun_;     // blocks, by their begin
  ByPlace<uint64_t> straight_;  // how often control came straight to an address
  ByPlace<Branch> jumps_;       // direct ones that were taken
  ByEdge<uint64_t> indirect_;   // jumps
  ByEdge<Branch> calls_;
};

}  // namespace flowback
