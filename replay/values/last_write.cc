// SPDX-License-Identifier: MIT
#include "replay/values/last_write.h"

#include <algorithm>
#include <optional>

#include "replay/values/kernel_calls.h"
#include "replay/values/memory_cells.h"
#include "replay/values/value_operations.h"

namespace flowback::values {
namespace {

constexpr unsigned kWordBytes = 8, kByteBits = 8;
constexpr uint64_t kByte = 0xff;

}  // namespace

KnownBits WriteFinder::Argument(const GraphStep& step, uint8_t number) const {
  return values_[graph_.registers[step.instruction][FollowedIndex(number)]];
}

// Calls in which a thread waits write to memory only where an argument asks for it.
bool WriteFinder::CallMayWrite(const GraphStep& step) const {
  const KnownBits number = BitsOf(step.a, values_);
  if (surroundings_.calls_hide_handlers || !number.all()) return true;
  if (IsHarmlessCall(number.value, graph_.mode)) return false;
  if (graph_.mode != CodeMode::kX86_64) return true;
  constexpr uint8_t kSecond = 6, kThird = 2, kFourth = 10;  // RSI, RDX, R10
  const KnownBits second = Argument(step, kSecond).ZeroExtended(32);
  return !WaitsOnly({.number = number.value,
                     .second = second.all() ? std::optional(second.value) : std::nullopt,
                     .second_is_null = Argument(step, kSecond) == Proven(0),
                     .third_is_null = Argument(step, kThird) == Proven(0),
                     .fourth_is_null = Argument(step, kFourth) == Proven(0)});
}

WriteFinder::Meets WriteFinder::Store(const GraphStep& step, const StoredValue& wanted) const {
  const auto address = MemoryCells::AddressOf(graph_.addresses[step.address], values_);
  if (!address) return step.on_stack && stack_keeps_away_ ? Meets::kNot : Meets::kOther;
  const uint64_t size = step.bits;
  if (*address - wanted.address >= wanted.bytes && wanted.address - *address >= size)
    return Meets::kNot;
  if (step.kind == GraphStep::Kind::kStoreIf || step.has_mask || size > kWordBytes)
    return Meets::kOther;
  const KnownBits stored = BitsOf(step.a, values_);
  unsigned met = 0;
  for (unsigned i = 0; i < size; ++i) {
    const uint64_t place = *address + i - wanted.address;
    if (place >= wanted.bytes) continue;
    const unsigned shift = i * kByteBits;
    const uint64_t byte = wanted.value >> (place * kByteBits) & kByte;
    if ((stored.known >> shift & kByte) != kByte || (stored.value >> shift & kByte) != byte)
      return Meets::kOther;
    ++met;
  }
  return met == wanted.bytes ? Meets::kWholly : Meets::kInPart;
}

WriteFinder::Meets WriteFinder::Step(const GraphStep& step, const StoredValue& wanted) const {
  switch (step.kind) {
    case GraphStep::Kind::kStore:
    case GraphStep::Kind::kStoreIf:
      return Store(step, wanted);
    case GraphStep::Kind::kForget:
      return step.by_others || (step.on_stack && stack_keeps_away_) ? Meets::kNot : Meets::kOther;
    case GraphStep::Kind::kSystemCall:
      return CallMayWrite(step) ? Meets::kOther : Meets::kNot;
    default:
      return Meets::kNot;
  }
}

LastWrite WriteFinder::Before(size_t point, const StoredValue& wanted) const {
  const LastWrite unknown{.kind = LastWrite::Kind::kOther, .instruction = point};
  if (wanted.bytes == 0 || wanted.bytes > kWordBytes) return unknown;
  for (unsigned i = 0; i < wanted.bytes; ++i)
    if (surroundings_.is_private && !surroundings_.is_private(wanted.address + i)) return unknown;
  for (uint32_t number = graph_.points[point]; number-- != 0;) {
    const GraphStep& step = graph_.steps[number];
    const Meets meets = Step(step, wanted);
    if (meets == Meets::kNot || meets == Meets::kInPart) continue;
    return {.kind = meets == Meets::kWholly ? LastWrite::Kind::kStored : LastWrite::Kind::kOther,
            .instruction = step.instruction};
  }
  return {};
}

}  // namespace flowback::values
