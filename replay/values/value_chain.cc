// SPDX-License-Identifier: MIT
#include "replay/values/value_chain.h"

#include <algorithm>
#include <iterator>

namespace flowback::values {
namespace {

constexpr size_t kMostLinks = 256;

bool IsSame(const ValueSlice& one, const ValueSlice& other) {
  return one.value == other.value && one.bits == other.bits && one.shift == other.shift;
}

// Whether all bits of one slice are among those of the other.
bool Holds(const ValueSlice& whole, const ValueSlice& part) {
  return part.shift >= whole.shift && part.shift + part.bits <= whole.shift + whole.bits;
}

}  // namespace

// An instruction has several steps. The chain has one link of each instruction, but for one that
// loads or stores, and computes, too: that memory is part of the chain.
void ChainFinder::Put(const GraphStep& step, ChainLink::Kind kind, const ValueSlice& slice,
                      ValueChain& chain) const {
  ChainLink link{.kind = kind, .instruction = step.instruction};
  const KnownBits bits = BitsOf(slice, solver_.values());
  if (bits.all()) link.value = bits.value;
  if (kind == ChainLink::Kind::kLoaded || kind == ChainLink::Kind::kStored) {
    link.address = MemoryCells::AddressOf(graph_.addresses[step.address], solver_.values());
    link.bytes = step.bits;
  }
  const bool is_same = !chain.links.empty() && chain.links.back().instruction == step.instruction;
  if (is_same && kind == ChainLink::Kind::kCopied) return;
  if (is_same && kind != ChainLink::Kind::kStored &&
      chain.links.back().kind == ChainLink::Kind::kCopied) {
    link.value = chain.links.back().value;
    chain.links.back() = link;
    return;
  }
  chain.links.push_back(link);
}

ValueSlice ChainFinder::AddStore(uint32_t number, ValueChain& chain) const {
  const MemoryCell& cell = solver_.cells()[number];
  // One that may not have written has no bytes (MemoryCells).
  if (cell.store == ValueGraph::kNoStep || graph_.steps[cell.store].has_mask ||
      solver_.cells().BytesOf(cell.store) == nullptr) {
    chain.end = ChainEnd::kMemory;
    return {};
  }
  const GraphStep& store = graph_.steps[cell.store];
  Put(store, ChainLink::Kind::kStored, store.a, chain);
  // Only the bytes of an own value go on; what a vector held is not followed.
  if (store.kind != GraphStep::Kind::kStore || store.bits > 8) {
    chain.end = ChainEnd::kUnknown;
    return {};
  }
  if (store.a.value == kNoValue) chain.end = ChainEnd::kConstant;
  return store.a;
}

// Whether one store, or none that is known, gave all bytes of a load.
bool ChainFinder::ComeFromOne(const MemoryCells::Bytes& bytes, unsigned size) const {
  const MemoryCell& first = solver_.cells()[bytes[0]];
  for (unsigned i = 1; i < size && i < bytes.size(); ++i) {
    if (bytes[i] == MemoryCells::kNoCell) return false;
    const MemoryCell& cell = solver_.cells()[bytes[i]];
    if (cell.store != first.store) return false;
    if (cell.store != ValueGraph::kNoStep && cell.store_byte != first.store_byte + i) return false;
  }
  return true;
}

ValueSlice ChainFinder::AddLoad(uint32_t number, bool keeps_old, ValueChain& chain) const {
  const GraphStep& step = graph_.steps[number];
  Put(step, ChainLink::Kind::kLoaded, step.to, chain);
  if (keeps_old) {
    chain.end = ChainEnd::kSeveral;
    return {};
  }
  const MemoryCells::Bytes* bytes = solver_.cells().BytesOf(number);
  if (bytes == nullptr || (*bytes)[0] == MemoryCells::kNoCell) {
    chain.end = chain.links.back().address ? ChainEnd::kMemory : ChainEnd::kAddress;
    return {};
  }
  if (!ComeFromOne(*bytes, step.bits)) {
    chain.end = ChainEnd::kSeveral;
    return {};
  }
  return AddStore((*bytes)[0], chain);
}

ValueSlice ChainFinder::AddComputation(const GraphStep& step, bool keeps_old,
                                       ValueChain& chain) const {
  const bool is_address = step.kind == GraphStep::Kind::kAddress;
  ValueSlice operands[3] = {step.a, step.b, step.c};
  if (is_address) {
    const GraphAddress& address = graph_.addresses[step.address];
    operands[0] = address.base;
    operands[1] = address.index;
    operands[2] = address.segment;
  }
  ValueSlice from;
  size_t count = 0;
  for (const ValueSlice& operand : operands) {
    if (operand.value == kNoValue || (count != 0 && IsSame(operand, from))) continue;
    from = operand;
    ++count;
  }
  // A selection goes on with what was selected.
  if (step.operation == StepOperation::kSelect && !is_address) {
    const KnownBits holds = BitsOf(step.a, solver_.values());
    if ((holds.known & 1) != 0) {
      from = (holds.value & 1) != 0 ? step.b : step.c;
      count = from.value == kNoValue ? 0 : 1;
    }
  }
  const bool is_zeroed =
      !is_address && count == 1 && IsSame(step.a, step.b) &&
      (step.operation == StepOperation::kXor || step.operation == StepOperation::kSubtract);
  if (is_zeroed) count = 0;
  const bool copies = !is_address && (step.operation == StepOperation::kCopy ||
                                      step.operation == StepOperation::kSelect ||
                                      step.operation == StepOperation::kSignExtend);
  // The rest of the register is one more value.
  const bool is_constant = count == 0 && !keeps_old;
  Put(step,
      is_constant ? ChainLink::Kind::kConstant
                  : (copies && !keeps_old ? ChainLink::Kind::kCopied : ChainLink::Kind::kComputed),
      step.to, chain);
  if (count == 1 && !keeps_old) return from;
  chain.end = is_constant ? ChainEnd::kConstant : ChainEnd::kSeveral;
  return {};
}

ValueSlice ChainFinder::AddLink(const ValueSlice& wanted, ValueChain& chain) const {
  const uint32_t number = graph_.definitions[wanted.value];
  if (number == ValueGraph::kNoStep) {
    // The values at the path's begin have the first numbers; the others come from calls.
    chain.end = wanted.value < kFollowed ? ChainEnd::kBeginning : ChainEnd::kUnknown;
    const auto gap = std::ranges::upper_bound(graph_.gaps, wanted.value);
    if (gap != graph_.gaps.begin() && wanted.value - *std::prev(gap) < kFollowed)
      chain.end = ChainEnd::kGap;
    return {};
  }
  const GraphStep& step = graph_.steps[number];
  const bool keeps_old = step.old != kNoValue && !Holds(step.to, wanted);
  switch (step.kind) {
    case GraphStep::Kind::kCompute:
    case GraphStep::Kind::kAddress:
      return AddComputation(step, keeps_old, chain);
    case GraphStep::Kind::kLoad:
      return AddLoad(number, keeps_old, chain);
    default:
      Put(step, ChainLink::Kind::kUnknown, step.to, chain);
      chain.end = ChainEnd::kUnknown;
      return {};
  }
}

void ChainFinder::Follow(ValueSlice slice, ValueChain& chain) const {
  while (slice.value != kNoValue && chain.links.size() < kMostLinks) slice = AddLink(slice, chain);
  if (slice.value != kNoValue) chain.end = ChainEnd::kTooLong;
}

ValueChain ChainFinder::OfValue(ValueId value) const {
  ValueChain chain;
  Follow({.value = value}, chain);
  return chain;
}

ValueChain ChainFinder::OfMemory(size_t point, uint64_t address) const {
  ValueChain chain{.end = ChainEnd::kMemory};
  const uint32_t cell = solver_.cells().CellAt(point, address);
  if (cell == MemoryCells::kNoCell) return chain;
  Follow(AddStore(cell, chain), chain);
  return chain;
}

}  // namespace flowback::values
