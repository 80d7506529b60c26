// SPDX-License-Identifier: MIT
// Which loads and stores of a path certainly meet the same memory.
//
// A byte keeps its content between two steps that may write to it. Such a stretch is a cell: all
// loads of the byte in it read the content, and the store that begins it wrote it. A store to an
// address that is not proven may write to any byte, so it ends all cells; the more addresses are
// proven, the longer the cells become.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "replay/values/kernel_calls.h"
#include "replay/values/known_bits.h"
#include "replay/values/painted_steps.h"
#include "replay/values/value_graph.h"

namespace flowback::values {

struct MemoryCell {
  uint64_t address = 0;
  uint32_t from = 0;                     // the first step that sees the content
  uint32_t to = 0;                       // the last one
  uint32_t store = ValueGraph::kNoStep;  // that wrote it; kNoStep: older than that is not known
  uint8_t store_byte = 0;                // which of the store's bytes
  KnownBits bits{.known = ~uint64_t{0xff}};
};

class MemoryCells {
 public:
  // The cells of a load's or store's bytes; empty where its address is not proven or its memory is
  // not followed.
  static constexpr uint32_t kNoCell = ~uint32_t{0};
  using Bytes = std::array<uint32_t, 8>;

  MemoryCells(const ValueGraph& graph, const Surroundings& surroundings)
      : graph_(graph), surroundings_(surroundings) {}

  // Makes the cells from the proven bits of the values. False: the known memory contradicts itself.
  bool Link(const std::vector<KnownBits>& values);

  // REQUIRES: the step is a load or store of at most 8 bytes.
  const Bytes* BytesOf(uint32_t step) const {
    const auto found = bytes_.find(step);
    return found == bytes_.end() ? nullptr : &found->second;
  }
  MemoryCell& operator[](uint32_t cell) { return cells_[cell]; }
  const MemoryCell& operator[](uint32_t cell) const { return cells_[cell]; }
  size_t size() const { return cells_.size(); }

  // The byte as a step at the point would see it; empty: it is not proven.
  std::optional<uint8_t> At(size_t point, uint64_t address) const;
  // The cell of the byte at that point; kNoCell: none is known.
  uint32_t CellAt(size_t point, uint64_t address) const;
  // The address of a load or store; empty: it is not proven.
  static std::optional<uint64_t> AddressOf(const GraphAddress& address,
                                           const std::vector<KnownBits>& values);

 private:
  bool IsFollowed(uint64_t address) const {
    return !surroundings_.is_private || surroundings_.is_private(address);
  }
  std::optional<uint8_t> ConstantAt(uint64_t address);
  void Pass(uint32_t step, const std::vector<KnownBits>& values);
  void Access(uint32_t step, bool stores, const std::vector<KnownBits>& values);
  void Store(uint32_t step, uint64_t address, unsigned size);
  void Load(uint32_t step, uint64_t address, unsigned size);
  uint32_t Open(uint64_t address, uint32_t from);
  void Close(uint32_t cell, uint32_t step) { cells_[cell].to = step; }
  void Forget(uint32_t step);
  void ForgetPart(uint32_t step, const MemoryRange& range);
  void Pass(uint32_t step, const KernelWrites& writes);
  // The first step behind the last one that may have changed the byte without a cell for it.
  uint32_t Since(uint64_t address) const { return std::max(since_, parts_since_.At(address)); }
  void AddState(const KnownState& state);
  void AddKnown(uint32_t cell, const KnownState& state);

  const ValueGraph& graph_;
  const Surroundings& surroundings_;
  std::vector<MemoryCell> cells_;
  std::unordered_map<uint64_t, uint32_t> open_;  // by address
  std::unordered_map<uint32_t, Bytes> bytes_;    // by step
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_address_;
  std::unordered_map<uint64_t, std::optional<uint8_t>> constants_;
  std::vector<uint32_t> forgets_;  // steps behind which all memory may be different
  std::vector<std::pair<uint32_t, MemoryRange>> parts_;  // behind which a part of it may be
  uint32_t since_ = 0;                                   // the first step behind the last forget
  PaintedSteps parts_since_;                             // the same for the parts after that
  size_t states_passed_ = 0;
  bool contradicts_ = false;
};

// Returns the proven bits of a part of a value.
KnownBits BitsOf(const ValueSlice& slice, const std::vector<KnownBits>& values);

}  // namespace flowback::values
