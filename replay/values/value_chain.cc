// SPDX-License-Identifier: MIT
#include "replay/values/value_chain.h"

namespace flowback::values {
namespace {

constexpr size_t kMostLinks = 256;

}  // namespace

// An instruction has several steps. The chain has one link of each instruction, but for one that
// loads or stores, and computes, too: that memory is part of the chain.
void ChainFinder::Put(const GraphStep& step, ChainLink::Kind kind, const ValueSlice& slice,
                      ValueChain& chain) const {
  ChainLink link{.kind = kind, .instruction = step.instruction};
  const KnownBits bits = BitsOf(slice, solver_.values());
  if (bits.all()) link.value = bits.value;
  if (kind == ChainLink::Kind::kLoaded || kind == ChainLink::Kind::kStored)
    link.address = MemoryCells::AddressOf(graph_.addresses[step.address], solver_.values());
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

ValueId ChainFinder::AddStore(uint32_t number, ValueChain& chain) const {
  const MemoryCell& cell = solver_.cells()[number];
  if (cell.store == ValueGraph::kNoStep) {
    chain.end = ChainEnd::kMemory;
    return kNoValue;
  }
  const GraphStep& store = graph_.steps[cell.store];
  Put(store, ChainLink::Kind::kStored, store.a, chain);
  // Only the bytes of an own value go on; what a vector held is not followed.
  if (store.kind != GraphStep::Kind::kStore || store.bits > 8) {
    chain.end = ChainEnd::kUnknown;
    return kNoValue;
  }
  if (store.a.value == kNoValue) chain.end = ChainEnd::kConstant;
  return store.a.value;
}

ValueId ChainFinder::AddLoad(uint32_t number, ValueChain& chain) const {
  const GraphStep& step = graph_.steps[number];
  Put(step, ChainLink::Kind::kLoaded, step.to, chain);
  const MemoryCells::Bytes* bytes = solver_.cells().BytesOf(number);
  if (bytes == nullptr || (*bytes)[0] == MemoryCells::kNoCell) {
    chain.end = chain.links.back().address ? ChainEnd::kMemory : ChainEnd::kAddress;
    return kNoValue;
  }
  return AddStore((*bytes)[0], chain);
}

ValueId ChainFinder::AddComputation(const GraphStep& step, ValueChain& chain) const {
  const bool is_address = step.kind == GraphStep::Kind::kAddress;
  ValueSlice operands[3] = {step.a, step.b, step.c};
  if (is_address) {
    const GraphAddress& address = graph_.addresses[step.address];
    operands[0] = address.base;
    operands[1] = address.index;
    operands[2] = address.segment;
  }
  ValueId from = kNoValue;
  size_t count = 0;
  for (const ValueSlice& operand : operands) {
    if (operand.value == kNoValue || operand.value == from) continue;
    from = operand.value;
    ++count;
  }
  // A selection goes on with what was selected.
  if (step.operation == StepOperation::kSelect && !is_address) {
    const KnownBits holds = BitsOf(step.a, solver_.values());
    if ((holds.known & 1) != 0) {
      const ValueSlice& chosen = (holds.value & 1) != 0 ? step.b : step.c;
      from = chosen.value;
      count = from == kNoValue ? 0 : 1;
    }
  }
  const bool is_zeroed =
      !is_address && count == 1 && step.a.value == step.b.value &&
      (step.operation == StepOperation::kXor || step.operation == StepOperation::kSubtract);
  if (is_zeroed) count = 0;
  const bool copies = !is_address && (step.operation == StepOperation::kCopy ||
                                      step.operation == StepOperation::kSelect ||
                                      step.operation == StepOperation::kSignExtend);
  Put(step,
      count == 0 ? ChainLink::Kind::kConstant
                 : (copies ? ChainLink::Kind::kCopied : ChainLink::Kind::kComputed),
      step.to, chain);
  if (count == 1) return from;
  chain.end = count == 0 ? ChainEnd::kConstant : ChainEnd::kSeveral;
  return kNoValue;
}

ValueId ChainFinder::AddLink(ValueId value, ValueChain& chain) const {
  const uint32_t number = graph_.definitions[value];
  if (number == ValueGraph::kNoStep) {
    // The values at the path's begin have the first numbers; the others come from calls.
    chain.end = value < kFollowed ? ChainEnd::kBeginning : ChainEnd::kUnknown;
    return kNoValue;
  }
  const GraphStep& step = graph_.steps[number];
  switch (step.kind) {
    case GraphStep::Kind::kCompute:
    case GraphStep::Kind::kAddress:
      return AddComputation(step, chain);
    case GraphStep::Kind::kLoad:
      return AddLoad(number, chain);
    default:
      Put(step, ChainLink::Kind::kUnknown, step.to, chain);
      chain.end = ChainEnd::kUnknown;
      return kNoValue;
  }
}

void ChainFinder::Follow(ValueId value, ValueChain& chain) const {
  while (value != kNoValue && chain.links.size() < kMostLinks) value = AddLink(value, chain);
  if (value != kNoValue) chain.end = ChainEnd::kTooLong;
}

ValueChain ChainFinder::OfValue(ValueId value) const {
  ValueChain chain;
  Follow(value, chain);
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
