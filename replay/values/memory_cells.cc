// SPDX-License-Identifier: MIT
#include "replay/values/memory_cells.h"

#include <algorithm>

#include "replay/values/bounded_writes.h"
#include "replay/values/value_operations.h"

namespace flowback::values {
namespace {

constexpr uint64_t kMostStored = 64;  // bytes of one store whose place is followed

}  // namespace

KnownBits BitsOf(const ValueSlice& slice, const std::vector<KnownBits>& values) {
  if (slice.value == kNoValue) return Proven(slice.constant);
  const KnownBits& whole = values[slice.value];
  return KnownBits{.known = whole.known >> slice.shift, .value = whole.value >> slice.shift}
      .ZeroExtended(slice.bits);
}

std::optional<uint64_t> MemoryCells::AddressOf(const GraphAddress& address,
                                               const std::vector<KnownBits>& values) {
  const KnownBits base = BitsOf(address.base, values);
  const KnownBits index = BitsOf(address.index, values);
  const KnownBits segment = BitsOf(address.segment, values);
  if (!base.all() || !index.all() || !segment.all()) return std::nullopt;
  const uint64_t sum = base.value + index.value * address.scale + address.displacement;
  return ((sum & LowBits(address.bits)) + segment.value) & address.mask;
}

std::optional<uint8_t> MemoryCells::ConstantAt(uint64_t address) {
  if (!surroundings_.constant) return std::nullopt;
  const auto [at, is_new] = constants_.try_emplace(address);
  if (is_new) at->second = surroundings_.constant(address);
  return at->second;
}

void MemoryCells::AddKnown(uint32_t cell, const KnownState& state) {
  if (!state.memory) return;
  const auto byte = state.memory(cells_[cell].address);
  if (byte && !Learn(cells_[cell].bits, Proven(*byte))) contradicts_ = true;
}

uint32_t MemoryCells::Open(uint64_t address, uint32_t from) {
  const auto cell = static_cast<uint32_t>(cells_.size());
  cells_.push_back({.address = address, .from = from});
  by_address_[address].push_back(cell);
  open_[address] = cell;
  return cell;
}

void MemoryCells::Load(uint32_t step, uint64_t address, unsigned size) {
  Bytes bytes;
  bytes.fill(kNoCell);
  for (unsigned i = 0; i < size; ++i) {
    const uint64_t at = address + i;
    if (const auto open = open_.find(at); open != open_.end()) {
      bytes[i] = open->second;
      continue;
    }
    const auto constant = ConstantAt(at);
    if (!constant && !IsFollowed(at)) continue;
    const uint32_t since = Since(at);
    bytes[i] = Open(at, since);
    if (constant) cells_[bytes[i]].bits = Proven(*constant);
    // A state that was passed since saw the same content.
    for (size_t s = states_passed_; s-- != 0;) {
      const KnownState& state = surroundings_.states[s];
      if (graph_.points[state.point] < since) break;
      AddKnown(bytes[i], state);
    }
  }
  bytes_.emplace(step, bytes);
}

void MemoryCells::Store(uint32_t step, uint64_t address, unsigned size) {
  Bytes bytes;
  bytes.fill(kNoCell);
  for (unsigned i = 0; i < size; ++i) {
    const uint64_t at = address + i;
    if (!IsFollowed(at)) continue;
    // What nobody has looked at since all was forgotten ends here, too: a state before saw it.
    if (!open_.contains(at)) Load(step, at, 1);
    if (const auto open = open_.find(at); open != open_.end()) Close(open->second, step);
    const uint32_t cell = Open(at, step + 1);
    cells_[cell].store = step;
    cells_[cell].store_byte = static_cast<uint8_t>(i);
    if (i < bytes.size()) bytes[i] = cell;
  }
  bytes_[step] = bytes;
}

void MemoryCells::Forget(uint32_t step) {
  for (const auto& [address, cell] : open_) Close(cell, step);
  open_.clear();
  forgets_.push_back(step);
  since_ = step + 1;
  parts_since_.Clear();
}

void MemoryCells::ForgetPart(uint32_t step, const MemoryRange& range) {
  if (range.size == 0) return;
  if (range.address + (range.size - 1) < range.address) return Forget(step);
  const auto end = [&](uint64_t address) {
    const auto open = open_.find(address);
    if (open == open_.end()) return;
    Close(open->second, step);
    open_.erase(open);
  };
  if (range.size <= open_.size()) {
    for (uint64_t i = 0; i < range.size; ++i) end(range.address + i);
  } else {
    std::erase_if(open_, [&](const auto& open) {
      const bool is_met = open.first - range.address < range.size;
      if (is_met) Close(open.second, step);
      return is_met;
    });
  }
  parts_.emplace_back(step, range);
  parts_since_.Paint(range.address, range.address + (range.size - 1), step + 1);
}

void MemoryCells::Pass(uint32_t step, const KernelWrites& writes) {
  if (writes.anywhere) return Forget(step);
  for (size_t i = 0; i < writes.count; ++i) ForgetPart(step, writes.ranges[i]);
}

void MemoryCells::Access(uint32_t step, bool stores, const std::vector<KnownBits>& values) {
  const GraphStep& made = graph_.steps[step];
  const auto address = AddressOf(graph_.addresses[made.address], values);
  if (!stores) {
    if (address && made.bits <= 8) Load(step, *address, made.bits);
    return;
  }
  if (!address || made.bits > kMostStored) return Forget(step);
  if (made.kind == GraphStep::Kind::kStore) return Store(step, *address, made.bits);
  OperationValues outcome{.a = BitsOf(made.b, values), .condition = made.condition};
  Refine(StepOperation::kCondition, outcome);
  const bool decided = (outcome.result.known & 1) != 0;
  if (decided && outcome.result.value == 0) return;
  Store(step, *address, made.bits);
  // Whether it wrote is not known, so neither is what.
  if (!decided) bytes_.erase(step);
}

void MemoryCells::Pass(uint32_t step, const std::vector<KnownBits>& values) {
  switch (graph_.steps[step].kind) {
    case GraphStep::Kind::kLoad:
      return Access(step, false, values);
    case GraphStep::Kind::kStore:
    case GraphStep::Kind::kStoreIf:
      return Access(step, true, values);
    case GraphStep::Kind::kForget:
      return Forget(step);
    case GraphStep::Kind::kForgetPart:
      return Pass(step, PartOf(graph_, graph_.steps[step], values));
    case GraphStep::Kind::kSystemCall:
      if (surroundings_.calls_hide_handlers) return Forget(step);
      return Pass(step, WritesOf(CallOf(graph_, graph_.steps[step], values), graph_.mode));
    default:
      return;
  }
}

void MemoryCells::AddState(const KnownState& state) {
  if (state.memory)
    for (const auto& [address, cell] : open_) AddKnown(cell, state);
}

bool MemoryCells::Link(const std::vector<KnownBits>& values) {
  cells_.clear();
  open_.clear();
  bytes_.clear();
  by_address_.clear();
  forgets_.clear();
  parts_.clear();
  parts_since_.Clear();
  since_ = 0;
  states_passed_ = 0;
  contradicts_ = false;
  const auto count = static_cast<uint32_t>(graph_.steps.size());
  const auto& states = surroundings_.states;
  for (uint32_t step = 0; step <= count; ++step) {
    while (states_passed_ < states.size() && graph_.points[states[states_passed_].point] <= step)
      AddState(states[states_passed_++]);
    if (step < count) Pass(step, values);
  }
  for (const auto& [address, cell] : open_) Close(cell, count);
  return !contradicts_;
}

uint32_t MemoryCells::CellAt(size_t point, uint64_t address) const {
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return kNoCell;
  const uint32_t step = graph_.points[point];
  for (const uint32_t cell : found->second)
    if (cells_[cell].from <= step && step <= cells_[cell].to) return cell;
  return kNoCell;
}

// A byte that nothing in the path meets between two places where all may change is, at any point
// between them, as it is at a state between them.
std::optional<uint8_t> MemoryCells::At(size_t point, uint64_t address) const {
  if (const uint32_t cell = CellAt(point, address); cell != kNoCell) {
    if (cells_[cell].bits.all()) return static_cast<uint8_t>(cells_[cell].bits.value);
    return std::nullopt;
  }
  if (!IsFollowed(address)) return std::nullopt;
  const uint32_t step = graph_.points[point];
  const auto end = std::ranges::lower_bound(forgets_, step);
  uint32_t from = end == forgets_.begin() ? 0 : *std::prev(end) + 1;
  uint32_t to = end == forgets_.end() ? ~uint32_t{0} : *end;
  for (const auto& [at, range] : parts_) {
    if (!range.Meets(address, 1)) continue;
    if (at < step) from = std::max(from, at + 1);
    if (at >= step) to = std::min(to, at);
  }
  for (const KnownState& state : surroundings_.states) {
    const uint32_t at = graph_.points[state.point];
    if (!state.memory || at < from || at > to) continue;
    if (const auto byte = state.memory(address)) return byte;
  }
  return std::nullopt;
}

}  // namespace flowback::values
